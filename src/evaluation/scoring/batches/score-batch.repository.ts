import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, prepared, raw, sql, type Sql, type SqlExecutor, type Tx, Where } from '#platform/db';
import { toJsonText } from '#platform/json';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import type { FailureCode, ScoringTarget } from '../runs/score-run.entity';
import type { ScoreBatchListQueryDto } from './score-batch.dto';
import type { BatchStatus, ScoreBatchRow } from './score-batch.entity';

/** Selects a column of a batch, with an aggregate of the results of its open runs so far. */
const soFar = (column: string, aggregate: string): string =>
  `CASE WHEN b.batch_status = 'running'
        THEN coalesce(b.${column}, 0) + (SELECT ${aggregate} FROM score_runs r
               JOIN score_results s ON s.score_run_id = r.score_run_id AND s.workspace_id = r.workspace_id
               WHERE r.score_batch_id = b.score_batch_id AND r.workspace_id = b.workspace_id AND r.run_status = 'running')
        ELSE b.${column} END AS ${column}`;

const COLUMNS = `b.score_batch_id, b.workspace_id, b.scorer_id, b.scorer_version, b.experiment_id, b.grain,
  b.batch_status, b.concurrency, b.total, ${soFar('completed_count', 'count(*) FILTER (WHERE s.error IS NULL)')},
  ${soFar('failed_count', 'count(s.error)')},
  ${soFar('not_written_back_count', 'count(*) FILTER (WHERE NOT s.is_written_back)')}, b.run_count,
  ${soFar('cost_usd', 'coalesce(sum(s.cost_usd), 0)')}, b.max_cost_usd, b.uses_cache, b.failure_code, b.failure_detail,
  b.started_at, b.finished_at, b.created_at, b.updated_at, b.created_by`;

const IS_OPEN = raw(`batch_status IN ('selecting', 'queued', 'running')`);

/** A new batch. */
export type NewScoreBatch = Pick<
  ScoreBatchRow,
  | 'score_batch_id'
  | 'scorer_id'
  | 'scorer_version'
  | 'experiment_id'
  | 'grain'
  | 'concurrency'
  | 'max_cost_usd'
  | 'uses_cache'
>;

/** A batch after one of its runs has ended. */
export interface CountedBatch {
  score_batch_id: string;
  batch_status: BatchStatus;
  max_cost_usd: number | null;
  cost_usd: number | null;
  total: number;
  /** Why the run failed. */
  run_failure_code: FailureCode | null;
  run_failure_detail: string | null;
  /** Whether a run of the batch has succeeded. */
  has_succeeded: boolean;
  /** Queued and running runs of the batch. */
  open_runs: number;
}

/** The end of a batch. */
export interface BatchEnd {
  batch_status: Extract<BatchStatus, 'succeeded' | 'failed'>;
  failure_code: FailureCode | null;
  failure_detail: string | null;
}

const isBatch = ({ workspaceId }: Scope, id: string): Sql =>
  sql`score_batch_id = ${id} AND workspace_id = ${workspaceId}`;

/** Stores and reads batches, and the targets that wait for their runs. */
@Injectable()
export class ScoreBatchRepository {
  constructor(private readonly database: Database) {}

  /** Counts the open batches of a workspace. Other callers for it wait until the transaction ends. */
  async countOpen(tx: Tx, scope: Scope): Promise<number> {
    const key = JSON.stringify(['score-batches', scope.workspaceId]);
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${key}, 0))`);
    const [row] = await tx.query<{ open: number }>(
      sql`SELECT count(*) AS open FROM score_batches WHERE workspace_id = ${scope.workspaceId} AND ${IS_OPEN}`,
    );
    return row!.open;
  }

  /** Inserts a batch that selects its targets. Nobody sees it before it is accepted. */
  async insert(tx: Tx, scope: Scope, batch: NewScoreBatch): Promise<void> {
    await tx.query(sql`
      INSERT INTO score_batches (score_batch_id, org_id, workspace_id, scorer_id, scorer_version, experiment_id, grain,
                                 concurrency, max_cost_usd, uses_cache, created_by)
      VALUES (${batch.score_batch_id}, ${scope.orgId}, ${scope.workspaceId}, ${batch.scorer_id}, ${batch.scorer_version},
              ${batch.experiment_id}, ${batch.grain}, ${batch.concurrency}, ${batch.max_cost_usd}, ${batch.uses_cache},
              ${scope.principalId})`);
  }

  /** Adds waiting targets to a batch, each once. Returns how many were new. */
  async addTargets(tx: Tx, scope: Scope, id: string, targets: readonly ScoringTarget[]): Promise<number> {
    const [row] = await tx.query<{ added: number }>(sql`
      WITH added AS (
        INSERT INTO score_batch_targets (score_batch_id, ordinal, trace_id, session_id, result_experiment_id, result_id,
                                         result_version, case_id)
        SELECT b.score_batch_id, t.ordinal, t.trace_id, t.session_id, t.result_experiment_id, t.result_id,
               t.result_version, t.case_id
        FROM score_batches b CROSS JOIN json_to_recordset(${toJsonText(targets)}::json) AS t(ordinal integer,
          trace_id text, session_id text, result_experiment_id text, result_id text, result_version integer, case_id text)
        WHERE b.score_batch_id = ${id} AND b.workspace_id = ${scope.workspaceId}
        ON CONFLICT DO NOTHING RETURNING 1
      ) SELECT count(*) AS added FROM added`);
    return row!.added;
  }

  /** Ends the selection. A batch without targets has succeeded. Returns the batch, or null if it was deleted. */
  async accept(tx: Tx, scope: Scope, id: string, total: number): Promise<ScoreBatchRow | null> {
    const end = sql`CASE WHEN ${total}::integer = 0 THEN now() END`;
    const [row] = await tx.query<ScoreBatchRow>(sql`
      UPDATE score_batches b
      SET total = ${total}, batch_status = CASE WHEN ${total}::integer = 0 THEN 'succeeded' ELSE 'queued' END,
          started_at = ${end}, finished_at = ${end}, updated_at = now()
      WHERE ${isBatch(scope, id)} AND batch_status = 'selecting' RETURNING ${raw(COLUMNS)}`);
    return row ?? null;
  }

  /** Deletes a batch that was not accepted, with its targets. */
  async discard(scope: Scope, id: string): Promise<void> {
    await this.database.query(
      sql`DELETE FROM score_batches WHERE ${isBatch(scope, id)} AND batch_status = 'selecting'`,
    );
  }

  /** Deletes batches of all tenants whose request was lost in a crash. Returns their number. */
  async deleteAbandoned(ageMs: number): Promise<number> {
    const rows = await this.database.query(
      sql`DELETE FROM score_batches WHERE batch_status = 'selecting'
          AND created_at < now() - ${ageMs} * interval '1 millisecond' RETURNING 1`,
    );
    return rows.length;
  }

  async find(scope: Scope, id: string, on: SqlExecutor = this.database): Promise<ScoreBatchRow | null> {
    const [row] = await on.query<ScoreBatchRow>(
      prepared(
        'score-batch.find',
        sql`SELECT ${raw(COLUMNS)} FROM score_batches b WHERE ${isBatch(scope, id)} AND batch_status <> 'selecting'`,
      ),
    );
    return row ?? null;
  }

  list(scope: Scope, query: ScoreBatchListQueryDto): Promise<RowPage<ScoreBatchRow>> {
    const where = new Where(scope.key, 'b')
      .add(sql`b.batch_status <> 'selecting'`)
      .addIf(query.scorer_id, (id) => sql`b.scorer_id = ${id}`)
      .addIf(query.batch_status, (status) => sql`b.batch_status = ${status}`)
      .addIf(query.experiment_id, (id) => sql`b.experiment_id = ${id}`);
    return listPage<ScoreBatchRow>(
      this.database,
      { columns: COLUMNS, from: 'score_batches b', where, id: 'b.score_batch_id', sorts: BY_CHANGE },
      query,
    );
  }

  /** Returns the ids of the open runs of a batch. */
  async openRuns(scope: Scope, id: string): Promise<string[]> {
    const rows = await this.database.query<{ score_run_id: string }>(
      sql`SELECT score_run_id FROM score_runs WHERE ${isBatch(scope, id)} AND run_status IN ('queued', 'running')`,
    );
    return rows.map(({ score_run_id }) => score_run_id);
  }

  /**
   * Moves waiting targets, the first ones first, to new runs of the batch, each with as many as a run may have.
   *
   * @param runIds ids for the runs; fewer are used if fewer targets wait
   * @param maxCostUsd the cost limit of each run
   * @returns the ids of the runs that were started
   */
  async startRuns(
    tx: Tx,
    scope: Scope,
    id: string,
    runIds: readonly string[],
    { targetsMax, maxCostUsd }: { targetsMax: number; maxCostUsd: number | null },
  ): Promise<string[]> {
    const rows = await tx.query<{ score_run_id: string }>(
      prepared(
        'score-batch.start-runs',
        sql`WITH batch AS MATERIALIZED (
            SELECT * FROM score_batches WHERE ${isBatch(scope, id)}
          ), taken AS (
            DELETE FROM score_batch_targets WHERE score_batch_id = (SELECT score_batch_id FROM batch)
              AND ordinal = ANY (ARRAY(
                SELECT ordinal FROM score_batch_targets WHERE score_batch_id = (SELECT score_batch_id FROM batch)
                ORDER BY ordinal LIMIT cardinality(${runIds}::text[]) * ${targetsMax}::integer))
            RETURNING *
          ), placed AS MATERIALIZED (
            SELECT *, (row_number() OVER (ORDER BY ordinal) - 1)::integer AS place FROM taken
          ), run AS (
            INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, experiment_id, grain,
                                    concurrency, total, max_cost_usd, uses_cache, created_at, updated_at, created_by,
                                    score_batch_id)
            SELECT (${runIds}::text[])[p.run + 1], b.org_id, b.workspace_id, b.scorer_id, b.scorer_version,
                   b.experiment_id, b.grain, b.concurrency, p.total, ${maxCostUsd}::float8, b.uses_cache, now(), now(),
                   b.created_by, b.score_batch_id
            FROM batch b CROSS JOIN (
              SELECT place / ${targetsMax}::integer AS run, count(*) AS total FROM placed GROUP BY 1
            ) p
            RETURNING score_run_id
          ), target AS (
            INSERT INTO score_targets (score_run_id, ordinal, trace_id, session_id, result_experiment_id, result_id,
                                       result_version, case_id)
            SELECT (${runIds}::text[])[place / ${targetsMax}::integer + 1], place % ${targetsMax}::integer, trace_id,
                   session_id, result_experiment_id, result_id, result_version, case_id
            FROM placed
          ), counted AS (
            UPDATE score_batches SET run_count = run_count + (SELECT count(*) FROM run) WHERE ${isBatch(scope, id)}
          )
          SELECT score_run_id FROM run`,
      ),
    );
    return rows.map(({ score_run_id }) => score_run_id);
  }

  /**
   * Adds the counts of a run that has ended to its batch, which is then locked. Returns null for a run without a batch.
   */
  async countRun(tx: Tx, scope: Scope, runId: string): Promise<CountedBatch | null> {
    const [batch] = await tx.query<Omit<CountedBatch, 'has_succeeded' | 'open_runs'>>(
      prepared(
        'score-batch.count-run',
        sql`UPDATE score_batches b
          SET completed_count = b.completed_count + r.completed_count, failed_count = b.failed_count + r.failed_count,
              not_written_back_count = b.not_written_back_count + r.not_written_back_count,
              cost_usd = coalesce(b.cost_usd + r.cost_usd, b.cost_usd, r.cost_usd), updated_at = now()
          FROM score_runs r
          WHERE r.score_run_id = ${runId} AND r.workspace_id = ${scope.workspaceId}
            AND b.score_batch_id = r.score_batch_id AND b.workspace_id = r.workspace_id
          RETURNING b.score_batch_id, b.batch_status, b.max_cost_usd, b.cost_usd, b.total,
                    r.failure_code AS run_failure_code, r.failure_detail AS run_failure_detail`,
      ),
    );
    if (!batch) return null;
    // A statement of its own, because it sees what other runs committed before the batch was locked.
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

  /** Counts the targets of a batch that are in no run. */
  async countWaiting(tx: Tx, scope: Scope, id: string): Promise<number> {
    const [row] = await tx.query<{ waiting: number }>(
      sql`SELECT count(*) AS waiting FROM score_batches b JOIN score_batch_targets t USING (score_batch_id)
        WHERE b.score_batch_id = ${id} AND b.workspace_id = ${scope.workspaceId}`,
    );
    return row!.waiting;
  }

  /** Locks a batch. Returns false if it has ended, or does not exist. */
  async lockOpen(tx: Tx, scope: Scope, id: string): Promise<boolean> {
    const rows = await tx.query(
      sql`SELECT 1 FROM score_batches WHERE ${isBatch(scope, id)} AND batch_status IN ('queued', 'running') FOR UPDATE`,
    );
    return rows.length > 0;
  }

  /** Ends an open batch, and deletes its waiting targets. */
  async end(tx: Tx, scope: Scope, id: string, end: BatchEnd): Promise<void> {
    await tx.query(sql`
      WITH ended AS (
        UPDATE score_batches
        SET batch_status = ${end.batch_status}, failure_code = ${end.failure_code},
            failure_detail = ${end.failure_detail}, started_at = coalesce(started_at, now()), finished_at = now(),
            updated_at = now()
        WHERE ${isBatch(scope, id)} AND batch_status IN ('queued', 'running') RETURNING score_batch_id
      )
      DELETE FROM score_batch_targets WHERE score_batch_id IN (SELECT score_batch_id FROM ended)`);
  }
}
