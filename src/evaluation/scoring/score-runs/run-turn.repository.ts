import { Injectable } from '@nestjs/common';
import { Database, prepared, sql, type Sql } from '#platform/db';
import type { ClaimedRun } from './run-execution.repository';

/** Which run a worker claims. */
export interface ClaimRules {
  /** Token of the lease. */
  token: string;
  leaseMs: number;
  /** Time until the deadline of the run, counted from its first claim. */
  seconds: number;
  /** Organizations that have as many runs in the process as they may have. */
  fullOrgs: readonly string[];
  /** Time after which a run that waits is claimed. */
  minAgeMs: number;
}

/** The claimed run, `none` if no run waits, or `full` if all are of `fullOrgs` or other workers are claiming them. */
export type RunClaim = ClaimedRun | 'none' | 'full';

/** Time in which a worker renews its lease after an outage of the database, before others can take the run. */
const LEASE_GRACE: Sql = sql`interval '5 seconds'`;

/**
 * Returns the started runs, which are few: those that workers hold, have given back or have lost.
 *
 * @param minAgeMs time after which a run that was given back, or waits after a failed attempt, can be claimed
 */
const startedRuns = (minAgeMs: number): Sql => sql`SELECT org_id, score_run_id,
    (lease_expires_at >= now() - ${LEASE_GRACE}) IS TRUE AS is_held,
    (coalesce(retry_at, released_at) > now() - ${minAgeMs} * interval '1 millisecond') IS TRUE AS is_delayed
  FROM score_runs WHERE run_status = 'running'`;

/** The organizations with queued runs. Skips from one to the next in the index, however many runs each has. */
const QUEUED_ORGS: Sql = sql`(SELECT org_id FROM score_runs WHERE run_status = 'queued' ORDER BY org_id LIMIT 1)
  UNION ALL
  SELECT (SELECT r.org_id FROM score_runs r WHERE r.run_status = 'queued' AND r.org_id > o.org_id
          ORDER BY r.org_id LIMIT 1)
  FROM queued_orgs o WHERE o.org_id IS NOT NULL`;

/** Gives runs to workers. Organizations take turns, over all workers. */
@Injectable()
export class RunTurnRepository {
  constructor(private readonly database: Database) {}

  /**
   * Claims the next run that is queued, was given back, or has lost its worker, and marks its batch as running. The next run
   * is of the organization with the fewest runs in progress; of several, of the one whose last claim is the oldest. Its runs
   * follow in the order in which they were created, started ones first. Skips runs that other workers are claiming, so that
   * workers never wait for each other.
   */
  async claim({ token, leaseMs, seconds, fullOrgs, minAgeMs }: ClaimRules): Promise<RunClaim> {
    const [row] = await this.database.query<ClaimedRun & { missing: Exclude<RunClaim, ClaimedRun> | null }>(
      prepared(
        'score-run.claim',
        sql`WITH RECURSIVE started AS MATERIALIZED (${startedRuns(minAgeMs)}),
          queued_orgs(org_id) AS (${QUEUED_ORGS}),
          waiting AS MATERIALIZED (
            SELECT org_id, score_run_id, true AS is_started FROM started WHERE NOT is_held AND NOT is_delayed
            UNION ALL
            SELECT o.org_id, oldest.score_run_id, false
            FROM queued_orgs o CROSS JOIN LATERAL (
              SELECT score_run_id, created_at FROM score_runs
              WHERE org_id = o.org_id AND run_status = 'queued' ORDER BY score_run_id LIMIT 1) oldest
            WHERE oldest.created_at <= now() - ${minAgeMs} * interval '1 millisecond'
          ), in_turn AS MATERIALIZED (
            SELECT w.* FROM waiting w
            WHERE w.org_id <> ALL (${fullOrgs}::text[])
            ORDER BY (SELECT count(*) FROM started s WHERE s.org_id = w.org_id AND s.is_held),
                     (SELECT claimed_at FROM scoring_turns t WHERE t.org_id = w.org_id) NULLS FIRST,
                     w.is_started DESC, w.score_run_id
          ), next AS MATERIALIZED (
            -- reads the candidates in turn, and locks the first run that nobody else has locked
            SELECT locked.score_run_id
            FROM in_turn w CROSS JOIN LATERAL (
              SELECT CASE WHEN w.is_started THEN
                (SELECT score_run_id FROM score_runs
                 WHERE score_run_id = w.score_run_id AND run_status = 'running'
                   AND (lease_expires_at IS NULL OR lease_expires_at < now() - ${LEASE_GRACE})
                 FOR NO KEY UPDATE SKIP LOCKED)
              ELSE
                (SELECT score_run_id FROM score_runs
                 WHERE org_id = w.org_id AND run_status = 'queued'
                 ORDER BY score_run_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
              END AS score_run_id OFFSET 0) locked
            WHERE locked.score_run_id IS NOT NULL
            LIMIT 1
          ), claimed AS (
            UPDATE score_runs
            SET run_status = 'running', lease_token = ${token},
                lease_expires_at = now() + ${leaseMs} * interval '1 millisecond',
                takeovers = takeovers + (lease_token IS NOT NULL)::integer, started_at = coalesce(started_at, now()),
                deadline_at = coalesce(deadline_at + (now() - coalesce(released_at, now())),
                                       now() + ${seconds} * interval '1 second'),
                released_at = NULL, retry_at = NULL, updated_at = now()
            WHERE score_run_id = (SELECT score_run_id FROM next)
            RETURNING score_run_id, score_batch_id, rule_id, org_id, workspace_id, scorer_id, scorer_version, experiment_id, grain,
                      concurrency, total, takeovers, created_by, max_cost_usd, uses_cache AS cache,
                      (SELECT coalesce(sum(s.cost_usd), 0) FROM target_outcomes s
                       WHERE s.score_run_id = score_runs.score_run_id
                         AND s.workspace_id = score_runs.workspace_id) AS cost_usd,
                      (extract(epoch FROM deadline_at - now()) * 1000)::float8 AS ms_left
          ), first_turn AS (
            INSERT INTO scoring_turns (org_id, claimed_at)
            SELECT org_id, clock_timestamp() FROM claimed c
            WHERE NOT EXISTS (SELECT FROM scoring_turns t WHERE t.org_id = c.org_id)
            ON CONFLICT DO NOTHING
          ), next_turn AS (
            -- skips the row if another worker is updating it, because that gives it the same time
            UPDATE scoring_turns SET claimed_at = clock_timestamp()
            WHERE org_id = (SELECT t.org_id FROM scoring_turns t JOIN claimed c USING (org_id)
                            FOR NO KEY UPDATE OF t SKIP LOCKED)
          ), started_batch AS (
            UPDATE score_batches b SET batch_status = 'running', started_at = now(), updated_at = now()
            FROM claimed c
            WHERE b.score_batch_id = c.score_batch_id AND b.workspace_id = c.workspace_id AND b.batch_status = 'queued'
          )
          SELECT c.*, CASE WHEN c.score_run_id IS NOT NULL THEN NULL
                           WHEN EXISTS (SELECT FROM waiting) THEN 'full' ELSE 'none' END AS missing
          FROM (VALUES (true)) one LEFT JOIN claimed c ON true`,
      ),
    );
    const { missing, ...run } = row!;
    return missing ?? run;
  }

  /** Counts the organizations that have a run that waits, and none in progress, up to a limit. */
  async countWaitingOrgs(limit: number): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      prepared(
        'score-run.waiting-orgs',
        sql`WITH RECURSIVE started AS MATERIALIZED (${startedRuns(0)}), queued_orgs(org_id) AS (${QUEUED_ORGS})
          SELECT count(*) AS count FROM (
            SELECT org_id FROM queued_orgs WHERE org_id IS NOT NULL
            UNION SELECT org_id FROM started WHERE NOT is_held AND NOT is_delayed
            EXCEPT SELECT org_id FROM started WHERE is_held
            LIMIT ${limit}) waiting`,
      ),
    );
    return row!.count;
  }
}
