import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { arrayParameter, Database, prepared, raw, sql, type SqlExecutor, type Tx, Where } from '#platform/db';
import { toJsonText } from '#platform/json';
import { BY_CHANGE, type ListQueryDto, listPage, type RowPage } from '#platform/paging';
import type { Grain, PinnedScorer } from '../../scorers';
import type { ScoreRunListQueryDto } from './score-run.dto';
import type {
  FailureCode,
  ScannedRange,
  ScoreResultRow,
  ScoreRunRow,
  ScoringTarget,
} from './score-run.entity';

/** Selects a column of a run or, while it is running, an aggregate of its results so far. */
const soFar = (column: string, aggregate: string): string =>
  `CASE WHEN r.run_status = 'running'
        THEN (SELECT ${aggregate} FROM target_outcomes s
              WHERE s.score_run_id = r.score_run_id AND s.workspace_id = r.workspace_id)
        ELSE r.${column} END AS ${column}`;

const COLUMNS = `r.score_run_id, r.workspace_id, r.scorer_id, r.scorer_version, r.experiment_id, r.rule_id,
  r.score_batch_id, r.grain,
  r.run_status, r.concurrency, r.total, ${soFar('completed_count', 'count(*) FILTER (WHERE s.error IS NULL)')},
  ${soFar('failed_count', 'count(s.error)')},
  ${soFar('not_written_back_count', 'count(*) FILTER (WHERE NOT s.is_counted)')},
  ${soFar('cost_usd', 'sum(s.cost_usd)')}, r.max_cost_usd, r.uses_cache,
  r.failure_code, r.failure_detail, r.started_at, r.finished_at, r.created_at, r.updated_at, r.created_by`;

/** The result of a target: what became of it (`o`), the target itself (`t`), and its score (`s`). */
const RESULT_COLUMNS = `o.score_run_id, o.ordinal, o.score_id, o.scorer_id, o.scorer_version, t.trace_id, t.session_id,
  t.result_id, t.case_id, s.score, s.label AS choice,
  o.confidence, o.probabilities, s.answers, coalesce(o.reasoning, s.comment) AS reasoning, o.backend,
  coalesce(s.model, o.model) AS model, s.judge_digest, o.error, o.elapsed_ms, o.cost_usd, o.request_sha256, o.is_cached,
  o.samples, o.created_at`;
const RESULTS = `target_outcomes o JOIN score_targets t USING (score_run_id, ordinal)
  LEFT JOIN scores s ON s.workspace_id = o.workspace_id AND s.score_id = o.score_id`;

/** Maximum number of open runs that are counted. */
const COUNTED_MAX = 100_000;

/** Maximum number of scanned ranges that are read. Sequential selections merge into one range. */
const SCANNED_RANGES_MAX = 10;

/** Numbers of open runs, for metrics. */
export interface OpenRuns {
  queued: number;
  running: number;
  /** Age of the oldest queued run. 0 without queued runs. */
  oldestQueuedSeconds: number;
}

/** The end of a run before all of its targets are scored. */
export interface RunEnd {
  code: FailureCode;
  detail: string;
  /** Error for the targets that were not scored. */
  error: string;
  /** A score id for each target of the run, used for the targets without a result. */
  scoreIds: string[];
}

/** Stores and reads runs. `RunExecutionRepository` has the statements of the worker that executes a run. */
@Injectable()
export class ScoreRunRepository {
  constructor(private readonly database: Database) {}

  /**
   * Inserts a run and its targets.
   *
   * @param scannedRange the range of results that was scanned to select the targets, see `scannedRanges`
   */
  async insert(
    tx: Tx,
    scope: Scope,
    run: ScoreRunRow,
    targets: readonly ScoringTarget[],
    scannedRange: ScannedRange | null = null,
  ): Promise<void> {
    await tx.query(sql`
      INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, experiment_id, grain,
                              concurrency, total, max_cost_usd, uses_cache, created_at, updated_at, created_by, rule_id,
                              run_status, started_at, finished_at, scanned_from, scanned_to)
      VALUES (${run.score_run_id}, ${scope.orgId}, ${scope.workspaceId}, ${run.scorer_id}, ${run.scorer_version},
              ${run.experiment_id}, ${run.grain}, ${run.concurrency}, ${run.total}, ${run.max_cost_usd},
              ${run.uses_cache}, ${run.created_at}, ${run.created_at}, ${scope.principalId}, ${run.rule_id}, ${run.run_status},
              ${run.started_at}, ${run.finished_at}, ${scannedRange?.from ?? null}, ${scannedRange?.to ?? null})`);
    await tx.query(sql`
      INSERT INTO score_targets (score_run_id, ordinal, trace_id, session_id, result_experiment_id, result_id,
                                 result_version, case_id)
      SELECT ${run.score_run_id}, ordinal, trace_id, session_id, result_experiment_id, result_id, result_version, case_id
      FROM json_to_recordset(${toJsonText(targets)}::json) AS t(ordinal integer, trace_id text, session_id text,
        result_experiment_id text, result_id text, result_version integer, case_id text)`);
  }

  async find(scope: Scope, id: string, on: SqlExecutor = this.database): Promise<ScoreRunRow | null> {
    const [row] = await on.query<ScoreRunRow>(
      prepared(
        'score-run.find',
        sql`SELECT ${raw(COLUMNS)} FROM score_runs r
          WHERE r.score_run_id = ${id} AND r.workspace_id = ${scope.workspaceId}`,
      ),
    );
    return row ?? null;
  }

  list(scope: Scope, query: ScoreRunListQueryDto): Promise<RowPage<ScoreRunRow>> {
    const where = new Where(scope.key, 'r')
      .addIndexed(query.scorer_id, (id) => sql`r.scorer_id = ${id}`)
      .addIndexed(query.run_status, (status) => sql`r.run_status = ${status}`)
      .addIndexed(query.experiment_id, (id) => sql`r.experiment_id = ${id}`)
      .addIndexed(query.rule_id, (id) => sql`r.rule_id = ${id}`)
      .addIndexed(query.score_batch_id, (id) => sql`r.score_batch_id = ${id}`);
    return listPage<ScoreRunRow>(
      this.database,
      { columns: COLUMNS, from: 'score_runs r', where, id: 'r.score_run_id', sorts: BY_CHANGE },
      query,
    );
  }

  listResults(scope: Scope, runId: string, query: ListQueryDto): Promise<RowPage<ScoreResultRow>> {
    const where = new Where(scope.key, 'o').add(sql`o.score_run_id = ${runId}`);
    return listPage<ScoreResultRow>(
      this.database,
      { columns: RESULT_COLUMNS, from: RESULTS, where, id: 'o.score_id' },
      query,
    );
  }

  /** Returns the mean of the scores that a run has so far. Null without scores. */
  async meanScore(scope: Scope, runId: string): Promise<number | null> {
    const [row] = await this.database.query<{ mean: number | null }>(
      sql`SELECT avg(score) AS mean FROM scores
        WHERE score_run_id = ${runId} AND workspace_id = ${scope.workspaceId}`,
    );
    return row!.mean;
  }

  /** Ends an open run, with an error for each target without a result. Returns false if the run has already ended. */
  async end(tx: Tx, scope: Scope, id: string, end: RunEnd): Promise<boolean> {
    const { workspaceId } = scope;
    const ended = await tx.query(sql`
      UPDATE score_runs
      SET run_status = 'failed', failure_code = ${end.code}, failure_detail = ${end.detail}, finished_at = now(),
          updated_at = now(), lease_token = NULL, lease_expires_at = NULL
      WHERE score_run_id = ${id} AND workspace_id = ${workspaceId} AND run_status IN ('queued', 'running')
      RETURNING 1`);
    if (ended.length === 0) return false;
    await tx.query(sql`
      INSERT INTO target_outcomes (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain, target_id,
                                   error, elapsed_ms)
      SELECT r.score_run_id, t.ordinal, ids.score_id, r.workspace_id, r.scorer_id, r.scorer_version, r.grain, t.target_id,
             ${end.error}, 0
      FROM score_runs r JOIN score_targets t USING (score_run_id)
      JOIN unnest(${end.scoreIds}::text[]) WITH ORDINALITY AS ids(score_id, position)
        ON ids.position = t.ordinal + 1
      WHERE r.score_run_id = ${id} AND r.workspace_id = ${workspaceId}
      ORDER BY t.ordinal -- like a worker, which may insert the same keys
      ON CONFLICT (score_run_id, ordinal) DO NOTHING`);
    await tx.query(sql`
      UPDATE score_runs r SET completed_count = c.completed, failed_count = c.failed,
             not_written_back_count = c.not_written_back, cost_usd = c.cost
      FROM (SELECT count(*) FILTER (WHERE error IS NULL) AS completed, count(error) AS failed,
                   count(*) FILTER (WHERE NOT is_counted) AS not_written_back, sum(cost_usd) AS cost
            FROM target_outcomes WHERE score_run_id = ${id} AND workspace_id = ${workspaceId}) c
      WHERE r.score_run_id = ${id} AND r.workspace_id = ${workspaceId}`);
    return true;
  }

  /**
   * Looks up the targets that a scorer version has scored or failed to score, or that are in one of its open runs or batches.
   * Returns true for targets with a score or in an open run or batch, and false for targets that only failed, or that another
   * judge has scored than the one of the scorer version's newest score.
   *
   * Looks up each target by its key (LATERAL, OFFSET 0), however many there are. `(SELECT …)` makes the planner use averages:
   * without statistics on a workspace and scorer, it would expect no rows and might read all scores. The statement is not
   * prepared, because a plan made while the tables were small would read all targets.
   */
  async findEarlier(
    scope: Scope,
    { scorer_id, scorer_version }: PinnedScorer,
    grain: Grain,
    targetIds: readonly string[],
    on: SqlExecutor = this.database,
  ): Promise<ReadonlyMap<string, boolean>> {
    const { workspaceId } = scope;
    const ids = arrayParameter('text', targetIds);
    const rows = await on.query<{ target_id: string; is_taken: boolean }>(
      sql`WITH newest_judged AS (
            SELECT judge_digest FROM scores
            WHERE workspace_id = (SELECT ${workspaceId}) AND scorer_id = ${scorer_id} AND scorer_version = ${scorer_version}
              AND judge_digest IS NOT NULL
            ORDER BY score_id DESC LIMIT 1
          )
          SELECT target_id, bool_or(is_taken) AS is_taken FROM (
            SELECT o.target_id, o.error IS NULL AND NOT EXISTS (
                SELECT FROM scores s WHERE s.workspace_id = ${workspaceId} AND s.score_id = o.score_id
                  AND s.judge_digest <> (SELECT judge_digest FROM newest_judged) OFFSET 0) AS is_taken
            FROM unnest(${ids}::text[]) AS ids(id) CROSS JOIN LATERAL (
              SELECT target_id, error, score_id FROM target_outcomes
              WHERE workspace_id = (SELECT ${workspaceId}) AND scorer_id = (SELECT ${scorer_id})
                AND scorer_version = ${scorer_version} AND grain = ${grain} AND target_id = ids.id OFFSET 0
            ) o
            UNION ALL
            SELECT t.target_id, true FROM score_runs r CROSS JOIN LATERAL (
              SELECT target_id, ordinal FROM score_targets
              WHERE score_run_id = r.score_run_id AND target_id = ANY(${ids}::text[]) OFFSET 0
            ) t
            WHERE r.workspace_id = ${workspaceId} AND r.scorer_id = ${scorer_id}
              AND r.scorer_version = ${scorer_version} AND r.grain = ${grain}
              AND r.run_status IN ('queued', 'running')
              AND NOT EXISTS (
                SELECT 1 FROM target_outcomes o WHERE o.score_run_id = r.score_run_id AND o.ordinal = t.ordinal)
            UNION ALL
            SELECT w.target_id, true FROM unnest(${ids}::text[]) AS ids(id) CROSS JOIN LATERAL (
              SELECT t.target_id FROM score_batch_targets t JOIN score_batches b USING (score_batch_id)
              WHERE t.target_id = ids.id AND b.workspace_id = ${workspaceId} AND b.scorer_id = ${scorer_id}
                AND b.scorer_version = ${scorer_version} AND b.grain = ${grain}
                AND b.batch_status IN ('queued', 'running') OFFSET 0
            ) w
          ) targets GROUP BY target_id`,
    );
    return new Map(rows.map(({ target_id, is_taken }) => [target_id, is_taken]));
  }

  /**
   * Returns the newest ranges of an experiment's results that were scanned to select targets for this scorer version. After
   * such a selection, no result in the range was left untried. Results may have been replaced since, or have become visible
   * late.
   */
  scannedRanges(
    scope: Scope,
    { scorer_id, scorer_version }: PinnedScorer,
    grain: Grain,
    experimentId: string,
  ): Promise<ScannedRange[]> {
    return this.database.query<ScannedRange>(
      sql`SELECT scanned_from AS "from", scanned_to AS "to" FROM score_runs
        WHERE workspace_id = (SELECT ${scope.workspaceId}::text) AND scorer_id = ${scorer_id}
          AND scorer_version = ${scorer_version} AND grain = ${grain} AND experiment_id = ${experimentId}
          AND scanned_from IS NOT NULL
        ORDER BY score_run_id DESC LIMIT ${SCANNED_RANGES_MAX}`,
    );
  }

  /** Until the transaction ends, blocks other requests that start runs of the same scorer version over unscored targets. */
  async lockUnscored(
    tx: Tx,
    scope: Scope,
    { scorer_id, scorer_version }: PinnedScorer,
    grain: Grain,
  ): Promise<void> {
    const key = JSON.stringify(['unscored', scope.workspaceId, scorer_id, scorer_version, grain]);
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${key}, 0))`);
  }

  /**
   * Takes the runs of all tenants that have lost their job or their worker: queued for `queuedMs`, or running under an expired
   * lease. Returns their ids. Takes each run at most once in `againMs`, starting with the run that was taken longest ago.
   */
  async takeLost(
    tx: Tx,
    { queuedMs, againMs, limit }: { queuedMs: number; againMs: number; limit: number },
  ): Promise<string[]> {
    const rows = await tx.query<{ score_run_id: string }>(
      sql`UPDATE score_runs SET requeued_at = now() WHERE score_run_id IN (
          SELECT score_run_id FROM score_runs
          WHERE run_status IN ('queued', 'running')
            AND (requeued_at IS NULL OR requeued_at < now() - ${againMs} * interval '1 millisecond')
            AND (run_status = 'queued' AND created_at < now() - ${queuedMs} * interval '1 millisecond'
                 OR run_status = 'running' AND (lease_expires_at IS NULL OR lease_expires_at < now()))
          ORDER BY requeued_at NULLS FIRST LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ) RETURNING score_run_id`,
    );
    return rows.map((row) => row.score_run_id);
  }

  /** Counts the open runs of all tenants, for metrics. Uses their index. */
  async countOpen(): Promise<OpenRuns> {
    const [row] = await this.database.query<{ queued: number; running: number; age: number }>(
      prepared(
        'score-run.open',
        sql`SELECT count(*) FILTER (WHERE run_status = 'queued') AS queued,
            count(*) FILTER (WHERE run_status = 'running') AS running,
            coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE run_status = 'queued')), 0)::float8 AS age
          FROM (SELECT run_status, created_at FROM score_runs WHERE run_status IN ('queued', 'running')
                LIMIT ${raw(String(COUNTED_MAX))}) open`,
      ),
    );
    const { queued, running, age } = row!;
    return { queued, running, oldestQueuedSeconds: Math.max(0, age) };
  }
}
