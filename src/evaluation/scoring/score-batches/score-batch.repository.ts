import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, prepared, raw, sql, type SqlExecutor, type Tx, Where } from '#platform/db';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import type { ScoringRequest } from '../score/scoring.service';
import { isBatch, sharedColumns } from '../score-runs/score-run.repository';
import type { ScoringTarget } from '../targets/target.entity';
import { TARGET_COLUMNS, targetRows } from '../targets/target.repository';
import type { ScoreBatchListQueryDto, ScoreBatchRow } from './score-batch.dto';

const COLUMNS = `batch_status, run_count, ${sharedColumns(
  'b',
  `batch_status = 'running'`,
  (column, count) => `coalesce(b.${column}, 0) + (SELECT coalesce(${count}, 0) FROM score_runs r
     JOIN target_outcomes s ON s.score_run_id = r.score_run_id AND s.workspace_id = r.workspace_id
     WHERE r.score_batch_id = b.score_batch_id AND r.workspace_id = b.workspace_id AND r.run_status = 'running')`,
)}`;

const IS_OPEN = raw(`batch_status IN ('selecting', 'queued', 'running')`);

/** A batch to store. */
export interface NewScoreBatch {
  id: string;
  /** The order whose batches share the cost limit. Null for a batch with a limit of its own. */
  orderId: string | null;
  request: ScoringRequest;
}

/** Stores and reads batches. `ScoreRunRepository` has the statements that start their runs and end them. */
@Injectable()
export class ScoreBatchRepository {
  constructor(private readonly database: Database) {}

  /** Counts the open batches of an organization. Other callers for it wait until the transaction ends. */
  async countOpen(tx: Tx, { orgId }: Scope): Promise<number> {
    const key = JSON.stringify(['score-batches', orgId]);
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${key}, 0))`);
    const [row] = await tx.query<{ open: number }>(
      sql`SELECT count(*) AS open FROM score_batches WHERE org_id = ${orgId} AND ${IS_OPEN}`,
    );
    return row!.open;
  }

  /** Inserts a batch whose targets are still being selected. It is invisible until it is accepted. */
  async insert(
    tx: Tx,
    scope: Scope,
    { id, orderId, request: { scorer, selection, options } }: NewScoreBatch,
  ): Promise<void> {
    await tx.query(sql`
      INSERT INTO score_batches (score_batch_id, org_id, workspace_id, scorer_id, scorer_version, experiment_id, grain,
                                 concurrency, max_cost_usd, uses_cache, created_by, order_id)
      VALUES (${id}, ${scope.orgId}, ${scope.workspaceId}, ${scorer.scorer_id}, ${scorer.scorer_version},
              ${selection.experimentId ?? null}, ${selection.grain}, ${options.concurrency}, ${options.max_cost_usd},
              ${options.cache}, ${scope.principalId}, ${orderId})`);
  }

  /** Adds waiting targets to a batch, each once. Returns how many were new. */
  async addTargets(scope: Scope, id: string, targets: readonly ScoringTarget[]): Promise<number> {
    const [row] = await this.database.query<{ inserted: number }>(sql`
      WITH inserted AS (
        INSERT INTO score_batch_targets (score_batch_id, ${TARGET_COLUMNS})
        SELECT score_batch_id, ${TARGET_COLUMNS} FROM score_batches CROSS JOIN ${targetRows(targets)}
        WHERE ${isBatch(scope, id)}
        ON CONFLICT DO NOTHING RETURNING 1
      ) SELECT count(*) AS inserted FROM inserted`);
    return row!.inserted;
  }

  /** Returns the next waiting targets after an ordinal. */
  targetsAfter(tx: Tx, scope: Scope, id: string, after: number, limit: number): Promise<ScoringTarget[]> {
    return tx.query<ScoringTarget>(
      sql`SELECT ${TARGET_COLUMNS} FROM score_batches b JOIN score_batch_targets t USING (score_batch_id)
        WHERE b.score_batch_id = ${id} AND b.workspace_id = ${scope.workspaceId} AND t.ordinal > ${after}
        ORDER BY t.ordinal LIMIT ${limit}`,
    );
  }

  async removeTargets(tx: Tx, scope: Scope, id: string, targetIds: readonly string[]): Promise<void> {
    if (targetIds.length === 0) return;
    await tx.query(
      sql`DELETE FROM score_batch_targets
        WHERE score_batch_id = (SELECT score_batch_id FROM score_batches WHERE ${isBatch(scope, id)})
          AND target_id = ANY (${targetIds}::text[])`,
    );
  }

  /** Ends the selection. A batch without targets succeeds at once. Returns the batch, or null if it was deleted. */
  async accept(tx: Tx, scope: Scope, id: string): Promise<ScoreBatchRow | null> {
    const end = raw('CASE WHEN t.selected = 0 THEN now() END');
    const [row] = await tx.query<ScoreBatchRow>(sql`
      UPDATE score_batches b
      SET total = t.selected, batch_status = CASE WHEN t.selected = 0 THEN 'succeeded' ELSE 'queued' END,
          started_at = ${end}, finished_at = ${end}, updated_at = now()
      FROM (SELECT count(*) AS selected FROM score_batch_targets WHERE score_batch_id = ${id}) t
      WHERE ${isBatch(scope, id)} AND batch_status = 'selecting' RETURNING ${raw(COLUMNS)}`);
    return row ?? null;
  }

  /** Deletes batches that were not accepted, with their targets. */
  async discard({ workspaceId }: Scope, ids: readonly string[]): Promise<void> {
    await this.database.query(
      sql`DELETE FROM score_batches
        WHERE score_batch_id = ANY (${ids}::text[]) AND workspace_id = ${workspaceId} AND batch_status = 'selecting'`,
    );
  }

  /** Deletes the batches of all tenants whose request was lost in a crash. Returns their number. */
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
      .addIndexed(query.scorer_id, (id) => sql`b.scorer_id = ${id}`)
      .addIndexed(query.batch_status, (status) => sql`b.batch_status = ${status}`)
      .addIndexed(query.experiment_id, (id) => sql`b.experiment_id = ${id}`);
    return listPage<ScoreBatchRow>(
      this.database,
      {
        columns: COLUMNS,
        from: 'score_batches b',
        where,
        id: 'b.score_batch_id',
        createdAt: 'b.created_at',
        sorts: BY_CHANGE,
      },
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
}
