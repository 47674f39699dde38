import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, prepared, raw, sql, type Sql, type SqlExecutor, type Tx, Where } from '#platform/db';
import { newId } from '#platform/ids';
import { BY_CHANGE, type ListQueryDto, listPage, type RowPage } from '#platform/paging';
import {
  type ScannedRange,
  type ScoringTarget,
  TARGETS_MAX,
  type VersionAtGrain,
} from '../targets/target.entity';
import { BUDGET_EXCEEDED } from '../../judges';
import { TARGET_COLUMNS, targetRows } from '../targets/target.repository';
import type { ScoreResultRow, ScoreRunListQueryDto, ScoreRunRow } from './score-run.dto';
import type { FailureCode, Outcome, RunStatus } from './score-run.types';

/** The counts of runs and batches, as aggregates of outcomes (`s`). */
const COUNTS = {
  completed_count: 'count(*) FILTER (WHERE s.error IS NULL)',
  failed_count: 'count(s.error)',
  not_written_back_count: 'count(*) FILTER (WHERE NOT s.is_counted)',
  truncated_count: 'count(*) FILTER (WHERE s.is_truncated AND s.error IS NULL)',
  too_large_count: 'count(*) FILTER (WHERE s.is_truncated AND s.error IS NOT NULL)',
  cost_usd: 'sum(s.cost_usd)',
};

/** Sets the counts of a run that ends, from its outcomes. */
export const setCounts = (runId: string, workspaceId: string): Sql =>
  sql`(${raw(Object.keys(COUNTS).join(', '))}) = (SELECT ${raw(Object.values(COUNTS).join(', '))}
        FROM target_outcomes s WHERE s.score_run_id = ${runId} AND s.workspace_id = ${workspaceId})`;

/**
 * Returns the columns that runs and batches share.
 *
 * @param work the alias of the run or batch
 * @param isRunning whether a count consists of the outcomes so far
 * @param soFar returns the SQL of such a count
 */
export const sharedColumns = (
  work: string,
  isRunning: string,
  soFar: (column: string, count: string) => string,
): string =>
  [
    // a subquery, because a join could read all scorers
    `(SELECT true FROM scorers x WHERE x.scorer_id = ${work}.scorer_id AND (x.workspace_id = ${work}.workspace_id) IS TRUE
       LIMIT 1) IS NULL AS scorer_erased`,
    'workspace_id, scorer_id, scorer_version, experiment_id, score_batch_id, grain, concurrency, total, max_cost_usd',
    'uses_cache AS cache, failure_code, failure_detail, started_at, finished_at, created_at, updated_at, created_by',
    ...Object.entries(COUNTS).map(
      ([column, count]) =>
        `CASE WHEN ${isRunning} THEN ${soFar(column, count)} ELSE ${column} END AS ${column}`,
    ),
  ].join(', ');

const COLUMNS = `score_run_id, rule_id, run_status, ${sharedColumns(
  'r',
  `run_status = 'running'`,
  (_, count) =>
    `(SELECT ${count} FROM target_outcomes s WHERE s.score_run_id = r.score_run_id AND s.workspace_id = r.workspace_id)`,
)}`;

/** The result of a target: what became of it (`o`), the target itself (`t`), and its score (`s`). */
const RESULT_COLUMNS = `o.score_run_id, o.score_id, o.scorer_id, o.scorer_version, t.trace_id, t.session_id,
  t.result_id, t.case_id, s.score, s.label AS choice,
  o.confidence, o.probabilities, s.answers, coalesce(o.reasoning, s.comment) AS reasoning, o.backend,
  coalesce(s.model, o.model) AS model, s.judge_digest, o.error, o.elapsed_ms, o.cost_usd, o.request_sha256, o.is_cached,
  nullif(o.is_truncated, false) AS is_truncated,
  o.samples, o.created_at`;
const RESULTS = `target_outcomes o JOIN score_targets t USING (score_run_id, ordinal)
  LEFT JOIN LATERAL (
    SELECT * FROM scores WHERE workspace_id = o.workspace_id AND score_id = o.score_id OFFSET 0) s ON true`;

/** Maximum number of open runs that are counted. */
const COUNTED_MAX = 100_000;

/** The end of a run before all of its targets are scored. */
export interface RunEnd {
  code: FailureCode;
  detail: string;
  /** Error for the targets that were not scored. */
  error: string;
}

/** The settings of a new run. Without an id, it gets a new one. */
export interface NewScoreRun
  extends
    VersionAtGrain,
    Pick<ScoreRunRow, 'concurrency' | 'max_cost_usd'>,
    Partial<Pick<ScoreRunRow, 'score_run_id' | 'experiment_id' | 'rule_id' | 'cache'>> {
  /** The range of results that was scanned to select the targets, see `TargetRepository.scannedRanges`. */
  scannedRange?: ScannedRange | null;
}

/** A batch after one of its runs has ended. */
export interface CountedBatch extends Pick<ScoreRunRow, 'max_cost_usd' | 'cost_usd' | 'total'> {
  score_batch_id: string;
  batch_status: RunStatus;
  /** Why the run failed. */
  run_failure_code: FailureCode | null;
  run_failure_detail: string | null;
  /** Whether a run of the batch has succeeded. */
  has_succeeded: boolean;
  /** Queued and running runs of the batch. */
  open_runs: number;
  /** The order whose batches share the cost limit. Null for a batch with a limit of its own. */
  order_id: string | null;
}

/** An open batch of an order. */
export type OrderedBatch = Pick<CountedBatch, 'score_batch_id' | 'total' | 'max_cost_usd'>;

/** An order that has open batches, but no open run. */
export interface StalledOrder {
  order_id: string;
  org_id: string;
  workspace_id: string;
  created_by: string;
}

export const isBatch = ({ workspaceId }: Scope, id: string): Sql =>
  sql`score_batch_id = ${id} AND workspace_id = ${workspaceId}`;

/**
 * Stores and reads runs, and starts and counts the runs of batches. `RunExecutionRepository` has the statements of the worker
 * that executes a run.
 */
@Injectable()
export class ScoreRunRepository {
  constructor(private readonly database: Database) {}

  /** Inserts a run and its targets. A run without targets has succeeded. */
  async insert(
    tx: Tx,
    scope: Scope,
    run: NewScoreRun,
    targets: readonly ScoringTarget[],
  ): Promise<ScoreRunRow> {
    const id = run.score_run_id ?? newId('run');
    const total = targets.length;
    const end = raw(total === 0 ? 'now()' : 'NULL');
    const [row] = await tx.query<ScoreRunRow>(sql`
      INSERT INTO score_runs AS r (score_run_id, org_id, workspace_id, scorer_id, scorer_version, experiment_id, grain,
                                   concurrency, total, max_cost_usd, uses_cache, created_at, updated_at, created_by,
                                   rule_id, run_status, started_at, finished_at, scanned_from, scanned_to)
      VALUES (${id}, ${scope.orgId}, ${scope.workspaceId}, ${run.scorer_id}, ${run.scorer_version},
              ${run.experiment_id ?? null}, ${run.grain}, ${run.concurrency}, ${total}, ${run.max_cost_usd},
              ${run.cache ?? true}, now(), now(), ${scope.principalId}, ${run.rule_id ?? null},
              ${total === 0 ? 'succeeded' : 'queued'}, ${end}, ${end}, ${run.scannedRange?.from ?? null},
              ${run.scannedRange?.to ?? null})
      RETURNING ${raw(COLUMNS)}`);
    await tx.query(sql`
      INSERT INTO score_targets (score_run_id, ${TARGET_COLUMNS})
      SELECT ${id}, ${TARGET_COLUMNS} FROM ${targetRows(targets)}`);
    return row!;
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
      {
        columns: COLUMNS,
        from: 'score_runs r',
        where,
        id: 'r.score_run_id',
        createdAt: 'r.created_at',
        sorts: BY_CHANGE,
      },
      query,
    );
  }

  listResults(scope: Scope, runId: string, query: ListQueryDto): Promise<RowPage<ScoreResultRow>> {
    const where = new Where(scope.key, 'o').add(sql`o.score_run_id = ${runId}`);
    return listPage<ScoreResultRow>(
      this.database,
      { columns: RESULT_COLUMNS, from: RESULTS, where, id: 'o.score_id', createdAt: 'o.created_at' },
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
    const scoreIds = Array.from({ length: TARGETS_MAX.score }, () => newId('score'));
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
      JOIN unnest(${scoreIds}::text[]) WITH ORDINALITY AS ids(score_id, position)
        ON ids.position = t.ordinal + 1
      WHERE r.score_run_id = ${id} AND r.workspace_id = ${workspaceId}
      ORDER BY t.ordinal -- like a worker, which may insert the same keys
      ON CONFLICT (score_run_id, ordinal) DO NOTHING`);
    await tx.query(sql`
      UPDATE score_runs SET ${setCounts(id, workspaceId)}
      WHERE score_run_id = ${id} AND workspace_id = ${workspaceId}`);
    return true;
  }

  /** Counts the open runs of an organization. Reads at most twice as many as the limit. */
  async countOpenOfOrg(tx: Tx, { orgId }: Scope, limit: number): Promise<number> {
    const [row] = await tx.query<{ open: number }>(
      prepared(
        'score-run.open-of-org',
        // With one limit for both, the planner may expect that the started runs suffice, and read all queued ones.
        sql`SELECT (SELECT count(*) FROM (SELECT FROM score_runs WHERE org_id = ${orgId} AND run_status = 'running'
                     LIMIT ${limit}) started)
            + (SELECT count(*) FROM (SELECT FROM score_runs WHERE org_id = ${orgId} AND run_status = 'queued'
                 LIMIT ${limit}) queued) AS open`,
      ),
    );
    return row!.open;
  }

  /** Makes other callers for the same organization wait until the transaction ends. */
  async lockOpenOfOrg(tx: Tx, { orgId }: Scope): Promise<void> {
    const key = JSON.stringify(['score-runs', orgId]);
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${key}, 0))`);
  }

  /** Counts the open runs of all tenants, and returns the age of the oldest queued one, for metrics. Uses their index. */
  async countOpen(): Promise<{ queued: number; running: number; oldestQueuedSeconds: number }> {
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

  /**
   * Moves waiting targets of a batch to new runs, in order, and fills each run.
   *
   * @param runIds ids for the runs; fewer are used if fewer targets wait
   * @param maxCostUsd cost limit of each run
   * @returns the ids of the runs that were started
   */
  async startBatchRuns(
    tx: Tx,
    scope: Scope,
    id: string,
    runIds: readonly string[],
    maxCostUsd: number | null,
  ): Promise<string[]> {
    const targetsMax = TARGETS_MAX.score;
    const rows = await tx.query<{ score_run_id: string }>(
      prepared(
        'score-batch.start-runs',
        sql`WITH batch AS MATERIALIZED (
            SELECT * FROM score_batches WHERE ${isBatch(scope, id)}
          ), deleted AS (
            DELETE FROM score_batch_targets WHERE score_batch_id = (SELECT score_batch_id FROM batch)
              AND ordinal = ANY (ARRAY(
                SELECT ordinal FROM score_batch_targets WHERE score_batch_id = (SELECT score_batch_id FROM batch)
                ORDER BY ordinal LIMIT cardinality(${runIds}::text[]) * ${targetsMax}::integer))
            RETURNING *
          ), claimed AS MATERIALIZED (
            SELECT *, (row_number() OVER (ORDER BY ordinal) - 1)::integer AS place FROM deleted
          ), run AS (
            INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, experiment_id, grain,
                                    concurrency, total, max_cost_usd, uses_cache, created_at, updated_at, created_by,
                                    score_batch_id)
            SELECT (${runIds}::text[])[p.run + 1], b.org_id, b.workspace_id, b.scorer_id, b.scorer_version,
                   b.experiment_id, b.grain, b.concurrency, p.total, ${maxCostUsd}::float8, b.uses_cache, now(), now(),
                   b.created_by, b.score_batch_id
            FROM batch b CROSS JOIN (
              SELECT place / ${targetsMax}::integer AS run, count(*) AS total FROM claimed GROUP BY 1
            ) p
            RETURNING score_run_id
          ), target AS (
            INSERT INTO score_targets (score_run_id, ordinal, trace_id, session_id, result_experiment_id, result_id,
                                       result_version, case_id)
            SELECT (${runIds}::text[])[place / ${targetsMax}::integer + 1], place % ${targetsMax}::integer, trace_id,
                   session_id, result_experiment_id, result_id, result_version, case_id
            FROM claimed
          ), updated AS (
            UPDATE score_batches SET run_count = run_count + (SELECT count(*) FROM run) WHERE ${isBatch(scope, id)}
          )
          SELECT score_run_id FROM run`,
      ),
    );
    return rows.map(({ score_run_id }) => score_run_id);
  }

  /**
   * Adds the scores and the cost of a run that has ended to the counts of the day of its rule, if it was started on that day.
   * Targets for which the budget did not suffice count as skipped, not as sent.
   */
  async addToRule(tx: Tx, scope: Scope, runId: string): Promise<void> {
    await tx.query(
      prepared(
        'scoring-rule.count-run',
        sql`UPDATE scoring_rules rule
          SET scored_today = scored_today + r.completed_count,
              sent_today = sent_today - unaffordable.count, skipped_today = skipped_today + unaffordable.count,
              spent_today_usd = spent_today_usd + coalesce(r.cost_usd, 0)
          FROM score_runs r CROSS JOIN LATERAL (
            SELECT count(*)::integer AS count FROM target_outcomes o
            WHERE o.score_run_id = r.score_run_id AND o.error = ${BUDGET_EXCEEDED}
          ) unaffordable
          WHERE r.score_run_id = ${runId} AND r.workspace_id = ${scope.workspaceId}
            AND rule.rule_id = r.rule_id AND rule.workspace_id = r.workspace_id
            AND rule.counted_day = date_trunc('day', r.created_at, 'UTC')`,
      ),
    );
  }

  /**
   * Adds the counts of a run that has ended to its batch, and so locks the batch. Returns null for a run without a batch.
   */
  async addToBatch(tx: Tx, scope: Scope, runId: string): Promise<CountedBatch | null> {
    const [batch] = await tx.query<Omit<CountedBatch, 'has_succeeded' | 'open_runs'>>(
      prepared(
        'score-batch.count-run',
        sql`UPDATE score_batches b
          SET completed_count = b.completed_count + r.completed_count, failed_count = b.failed_count + r.failed_count,
              not_written_back_count = b.not_written_back_count + r.not_written_back_count,
              truncated_count = b.truncated_count + r.truncated_count,
              too_large_count = b.too_large_count + r.too_large_count,
              cost_usd = coalesce(b.cost_usd + r.cost_usd, b.cost_usd, r.cost_usd), updated_at = now()
          FROM score_runs r
          WHERE r.score_run_id = ${runId} AND r.workspace_id = ${scope.workspaceId}
            AND b.score_batch_id = r.score_batch_id AND b.workspace_id = r.workspace_id
          RETURNING b.score_batch_id, b.batch_status, b.max_cost_usd, b.cost_usd, b.total, b.order_id,
                    r.failure_code AS run_failure_code, r.failure_detail AS run_failure_detail`,
      ),
    );
    if (!batch) return null;
    // A separate statement, so that it sees what other runs committed before the batch was locked.
    const [runs] = await tx.query<Pick<CountedBatch, 'has_succeeded' | 'open_runs'>>(
      prepared(
        'score-batch.runs',
        sql`SELECT EXISTS (SELECT FROM score_runs WHERE ${isBatch(scope, batch.score_batch_id)}
                             AND run_status = 'succeeded') AS has_succeeded,
              (SELECT count(*) FROM score_runs WHERE ${isBatch(scope, batch.score_batch_id)}
                 AND run_status IN ('queued', 'running')) AS open_runs`,
      ),
    );
    return { ...batch, ...runs! };
  }

  /**
   * Makes other callers for the same order wait until the transaction ends. Returns its cost in runs that have ended, in US
   * dollars, and whether one of its runs is open.
   */
  async lockOrder(
    tx: Tx,
    { workspaceId }: Scope,
    orderId: string,
  ): Promise<{ cost_usd: number; is_running: boolean }> {
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`score order ${orderId}`}, 0))`);
    const [order] = await tx.query<{ cost_usd: number; is_running: boolean }>(
      sql`SELECT coalesce(sum(b.cost_usd), 0)::float8 AS cost_usd, coalesce(bool_or(EXISTS (
            SELECT FROM score_runs r WHERE r.score_batch_id = b.score_batch_id AND r.run_status IN ('queued', 'running'))), false)
            AS is_running
          FROM score_batches b WHERE b.order_id = ${orderId} AND b.workspace_id = ${workspaceId}`,
    );
    return order!;
  }

  /** Returns the open batches of an order, in their order. */
  openBatchesOf(tx: Tx, { workspaceId }: Scope, orderId: string): Promise<OrderedBatch[]> {
    return tx.query<OrderedBatch>(
      sql`SELECT score_batch_id, total, max_cost_usd FROM score_batches
        WHERE order_id = ${orderId} AND workspace_id = ${workspaceId} AND batch_status IN ('queued', 'running')
        ORDER BY score_batch_id`,
    );
  }

  /** Returns the orders of all tenants with open batches, none of which has an open run. */
  stalledOrders(): Promise<StalledOrder[]> {
    return this.database.query<StalledOrder>(
      sql`SELECT DISTINCT b.order_id, b.org_id, b.workspace_id, b.created_by FROM score_batches b
        WHERE b.batch_status IN ('queued', 'running') AND b.order_id IS NOT NULL AND NOT EXISTS (
          SELECT FROM score_batches other JOIN score_runs r ON r.score_batch_id = other.score_batch_id
          WHERE other.order_id = b.order_id AND r.run_status IN ('queued', 'running'))`,
    );
  }

  /** Locks an open batch and counts its targets that are not in a run yet. Returns null if the batch has ended. */
  async lockAndCountWaiting(tx: Tx, scope: Scope, id: string): Promise<number | null> {
    const locked = await tx.query(
      sql`SELECT 1 FROM score_batches WHERE ${isBatch(scope, id)} AND batch_status IN ('queued', 'running') FOR UPDATE`,
    );
    if (locked.length === 0) return null;
    const [row] = await tx.query<{ waiting: number }>(
      sql`SELECT count(*) AS waiting FROM score_batches JOIN score_batch_targets USING (score_batch_id)
        WHERE ${isBatch(scope, id)}`,
    );
    return row!.waiting;
  }

  /** Ends an open batch, and deletes its waiting targets. */
  async endBatch(tx: Tx, scope: Scope, id: string, end: Outcome): Promise<void> {
    await tx.query(sql`
      WITH ended AS (
        UPDATE score_batches
        SET batch_status = ${end.status}, failure_code = ${end.failure_code},
            failure_detail = ${end.failure_detail}, started_at = coalesce(started_at, now()), finished_at = now(),
            updated_at = now()
        WHERE ${isBatch(scope, id)} AND batch_status IN ('queued', 'running') RETURNING score_batch_id
      )
      DELETE FROM score_batch_targets WHERE score_batch_id IN (SELECT score_batch_id FROM ended)`);
  }
}
