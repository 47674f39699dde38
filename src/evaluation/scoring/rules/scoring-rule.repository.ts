import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  Database,
  microsecondsToTime,
  prepared,
  type Sql,
  sql,
  type Tx,
  Where,
  WorkspaceScopedRepository,
} from '#platform/db';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import type { FeedPosition } from '../../../telemetry';
import type { ScorerKind } from '../../scorers';
import type { Spending } from './pace';
import type { ScoringRuleListQueryDto, WorkspaceRuleListQueryDto } from './scoring-rule.dto';
import { ScoringRuleEntity } from './scoring-rule.entity';

/** An enabled rule, with the columns that decide whether it has work to do. */
export type ActiveRule = Pick<
  ScoringRuleEntity,
  | 'rule_id'
  | 'org_id'
  | 'workspace_id'
  | 'created_by'
  | 'grain'
  | 'quiet_seconds'
  | 'seen_us'
  | 'seen_trace_id'
  | 'last_error'
  | 'max_cost_usd_per_day'
> & {
  is_scorer_live: boolean;
  scorer_kind: ScorerKind;
  /** Number of open runs of the rule, up to a limit. */
  open_runs: number;
};

/** The traces that arrived before a time and that a rule has not processed. */
export const unseenBy = (rule: ActiveRule, before_us: number) => ({
  rule,
  workspace_id: rule.workspace_id,
  after: { arrived_us: rule.seen_us, trace_id: rule.seen_trace_id },
  before_us,
});

/** The outcome of one step of a rule. */
export interface RuleStep {
  /** The position in the arrivals that the rule has reached. */
  position: FeedPosition;
  seenCount: number;
  chosenCount: number;
  orderedCount: number;
  /** The run that the step started. */
  runId: string | null;
}

/** What a rule has spent today. The cost is null while a run of the rule is open. */
export interface SpendingRow extends Omit<Spending, 'spentUsd'> {
  spentUsd: number | null;
  dayEnd: Date;
}

/** Number of runs whose mean cost of a target predicts the next one's. */
const LATEST_RUNS = 20;

/** Adds to the counts of the day (UTC), which start at 0 on each day. */
const countToday = (sent: Sql, skipped: Sql): Sql => sql`
  (counted_day, sent_today, skipped_today, scored_today, spent_today_usd) = (
    SELECT day, CASE WHEN is_same THEN sent_today ELSE 0 END + ${sent}::integer,
      CASE WHEN is_same THEN skipped_today ELSE 0 END + ${skipped}::integer,
      CASE WHEN is_same THEN scored_today ELSE 0 END, CASE WHEN is_same THEN spent_today_usd ELSE 0 END
    FROM (SELECT day, counted_day IS NOT DISTINCT FROM day AS is_same FROM date_trunc('day', now(), 'UTC') AS day) now_day)`;

/** Selects the enabled rules of all tenants. */
const activeRules = (openMax: number): Sql => sql`
  SELECT r.rule_id, r.org_id, r.workspace_id, r.created_by, r.grain, r.quiet_seconds, r.seen_us,
    r.seen_trace_id, r.last_error, r.max_cost_usd_per_day, s.is_scorer_live, s.scorer_kind,
    (SELECT count(*) FROM (
       SELECT FROM score_runs o
       WHERE o.rule_id = r.rule_id AND o.workspace_id = r.workspace_id AND o.run_status IN ('queued', 'running')
       LIMIT ${openMax}) open) AS open_runs
  FROM scoring_rules r LEFT JOIN LATERAL (
    SELECT archived_at IS NULL AS is_scorer_live, scorer_kind FROM scorers
    WHERE scorer_id = r.scorer_id AND workspace_id = r.workspace_id OFFSET 0) s ON true
  WHERE r.enabled AND r.archived_at IS NULL`;

/** Returns the mean known cost of the targets of a few runs for which the judge was asked. Null if no cost is known. */
const meanCost = (scope: Scope, runs: Sql): Sql => sql`(
  SELECT avg(cost_usd) FROM (${runs}) run CROSS JOIN LATERAL (
    SELECT cost_usd FROM target_outcomes
    WHERE score_run_id = run.score_run_id AND workspace_id = ${scope.workspaceId} AND is_cached IS NOT TRUE
      AND (cost_usd > 0 OR cost_usd = 0 AND error IS NULL) OFFSET 0) outcome)`;

@Injectable()
export class ScoringRuleRepository extends WorkspaceScopedRepository<ScoringRuleEntity> {
  constructor(database: Database) {
    super(database, ScoringRuleEntity, 'rule_id');
  }

  list(
    scope: Scope,
    query: WorkspaceRuleListQueryDto | (ScoringRuleListQueryDto & { scorer_id: string }),
  ): Promise<RowPage<ScoringRuleEntity>> {
    const where = new Where(scope.key).addIndexed(query.scorer_id, (id) => sql`scorer_id = ${id}`);
    if ('enabled' in query) where.addIf(query.enabled, (enabled) => sql`enabled = ${enabled}`);
    return listPage<ScoringRuleEntity>(
      this.database,
      { ...this.listed, where, sorts: BY_CHANGE, bytes: 'bytes' },
      query,
    );
  }

  /** Counts the rules of a scorer that are not archived. */
  async countLive(tx: Tx, scope: Scope, scorerId: string): Promise<number> {
    const [row] = await tx.query<{ live: number }>(
      sql`SELECT count(*) AS live FROM scoring_rules
        WHERE workspace_id = ${scope.workspaceId} AND scorer_id = ${scorerId} AND archived_at IS NULL`,
    );
    return row!.live;
  }

  /**
   * Lists the enabled rules of all tenants, in order of their ids.
   *
   * @param after the id of the last rule of the previous page
   * @param openMax limit for counting the open runs of a rule
   */
  listActive(after: string, limit: number, openMax: number): Promise<ActiveRule[]> {
    return this.database.query<ActiveRule>(
      prepared(
        'scoring-rule.list-active',
        sql`${activeRules(openMax)} AND r.rule_id > ${after} ORDER BY r.rule_id LIMIT ${limit}`,
      ),
    );
  }

  /** Finds an enabled rule of any tenant. Returns an empty list if there is none. */
  findActive(ruleId: string, openMax: number): Promise<ActiveRule[]> {
    return this.database.query<ActiveRule>(
      prepared('scoring-rule.find-active', sql`${activeRules(openMax)} AND r.rule_id = ${ruleId}`),
    );
  }

  /** Leases rules of any tenant to this worker. Returns the ids of the rules that no other worker holds. */
  async lease(ruleIds: readonly string[], leaseMs: number): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ rule_id: string }>(
      prepared(
        'scoring-rule.lease',
        sql`UPDATE scoring_rules SET held_until = now() + ${leaseMs} * interval '1 millisecond' WHERE rule_id IN (
            SELECT rule_id FROM scoring_rules
            WHERE rule_id = ANY (${ruleIds}::text[]) AND enabled AND archived_at IS NULL
              AND (held_until IS NULL OR held_until < now())
            FOR UPDATE SKIP LOCKED
          ) RETURNING rule_id`,
      ),
    );
    return new Set(rows.map((row) => row.rule_id));
  }

  /** Stores the progress of a rule. Returns false, and writes nothing, if the rule has changed since it was read. */
  async advance(tx: Tx, scope: Scope, rule: ScoringRuleEntity, step: RuleStep): Promise<boolean> {
    const { position, runId } = step;
    const updated = await tx.query(
      prepared(
        'scoring-rule.advance',
        sql`UPDATE scoring_rules
          SET seen_us = ${position.arrived_us}, seen_trace_id = ${position.trace_id},
              last_seen_at = ${microsecondsToTime(sql`${position.arrived_us}`)},
              seen_count = seen_count + ${step.seenCount}, chosen_count = chosen_count + ${step.chosenCount},
              ordered_count = ordered_count + ${step.orderedCount},
              ${countToday(sql`${step.orderedCount}`, sql`${step.chosenCount - step.orderedCount}`)},
              last_score_run_id = coalesce(${runId}, last_score_run_id),
              last_run_at = CASE WHEN ${runId}::text IS NULL THEN last_run_at ELSE now() END,
              last_error = NULL, held_until = NULL
          WHERE rule_id = ${rule.rule_id} AND workspace_id = ${scope.workspaceId} AND generation = ${rule.generation}
            AND seen_us = ${rule.seen_us} AND seen_trace_id = ${rule.seen_trace_id}
            AND enabled AND archived_at IS NULL
          RETURNING 1`,
      ),
    );
    return updated.length > 0;
  }

  /**
   * Returns what a rule has spent today (UTC), and the end of that day. The cost of today's runs is null while a run of the
   * rule is open, because it is not known yet. The mean cost is that of the targets in the latest runs of this version of the
   * scorer, without cached answers and unknown costs. If none of them has a cost, the latest runs with a cost count, so that an
   * outage of the judge does not make the mean unknown.
   */
  async spending(
    scope: Scope,
    { rule_id: ruleId }: ScoringRuleEntity,
    version: number,
  ): Promise<SpendingRow> {
    const latest = sql`
      SELECT score_run_id FROM (
        SELECT score_run_id, scorer_version FROM score_runs
        WHERE rule_id = ${ruleId} AND workspace_id = ${scope.workspaceId}
        ORDER BY score_run_id DESC LIMIT ${LATEST_RUNS}) of_rule
      WHERE scorer_version = ${version}`;
    const latestWithCost = sql`
      SELECT score_run_id FROM score_runs
      WHERE rule_id = ${ruleId} AND workspace_id = ${scope.workspaceId} AND scorer_version = ${version} AND cost_usd > 0
      ORDER BY score_run_id DESC LIMIT ${LATEST_RUNS}`;
    const [row] = await this.database.query<SpendingRow>(
      prepared(
        'scoring-rule.spending',
        sql`SELECT CASE WHEN EXISTS (
              SELECT FROM score_runs
              WHERE rule_id = ${ruleId} AND workspace_id = ${scope.workspaceId} AND run_status IN ('queued', 'running')
            ) THEN NULL ELSE (
              SELECT CASE WHEN counted_day = date_trunc('day', now(), 'UTC') THEN spent_today_usd ELSE 0 END
              FROM scoring_rules WHERE rule_id = ${ruleId} AND workspace_id = ${scope.workspaceId}
            ) END AS "spentUsd",
            coalesce(${meanCost(scope, latest)}, ${meanCost(scope, latestWithCost)}) AS "meanUsd",
            extract(epoch FROM now() - date_trunc('day', now(), 'UTC'))::float8 / 86400 AS "dayShare",
            date_trunc('day', now(), 'UTC') + interval '1 day' AS "dayEnd"`,
      ),
    );
    return row!;
  }

  /** Pauses a rule, unless it is paused or has changed since it was read. */
  async pause(scope: Scope, { rule_id, generation }: ScoringRuleEntity, until: Date): Promise<void> {
    await this.database.query(
      sql`UPDATE scoring_rules
        SET paused_until = ${until}, last_paused_at = now()
        WHERE rule_id = ${rule_id} AND workspace_id = ${scope.workspaceId} AND generation = ${generation}
          AND paused_until IS DISTINCT FROM ${until}`,
    );
  }

  /** Releases the lease on a rule that has no work to do. */
  async release(scope: Scope, ruleId: string): Promise<void> {
    await this.database.query(
      sql`UPDATE scoring_rules SET held_until = NULL
        WHERE rule_id = ${ruleId} AND workspace_id = ${scope.workspaceId}`,
    );
  }

  /** Stores the error that blocks rules. Returns the ids of the rules that did not have this error yet. */
  async recordError(ruleIds: readonly string[], error: string): Promise<string[]> {
    const rows = await this.database.query<{ rule_id: string }>(
      sql`UPDATE scoring_rules SET last_error = ${error}
        WHERE rule_id = ANY (${ruleIds}::text[]) AND last_error IS DISTINCT FROM ${error} RETURNING rule_id`,
    );
    return rows.map((row) => row.rule_id);
  }
}
