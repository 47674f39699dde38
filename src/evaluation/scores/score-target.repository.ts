import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, prepared, raw, sql, type Tx } from '#platform/db';
import { DeletedTraces } from '../../telemetry';
import type { ScoreRow, TargetKind } from './score.entity';

/** A target to lock. A result has its experiment. */
export interface TargetKey {
  kind: TargetKind;
  id: string;
  experimentId: string | null;
}

/** A locked result. */
export interface LockedResult {
  result_id: string;
  version: number;
  /** Whether its content was erased. */
  erased: boolean;
  /** Whether its experiment is finalized. */
  is_late: boolean;
}

/** Locked targets. */
export interface LockedTargets {
  /** By id. */
  results: ReadonlyMap<string, LockedResult>;
  /** The traces that were deleted since they were selected. They get no score. */
  deletedTraces: ReadonlySet<string>;
}

/** A result as a score stores it. */
export type ResultTarget = Pick<
  ScoreRow,
  'experiment_id' | 'result_id' | 'result_version' | 'trace_id' | 'session_id' | 'case_id'
>;

/** Finds the results that scores are for, and locks the targets of scores. */
@Injectable()
export class ScoreTargetRepository {
  constructor(
    private readonly database: Database,
    private readonly deletedTraces: DeletedTraces,
  ) {}

  /** Returns the results that exist, by their ids. */
  async findResults(
    { workspaceId }: Scope,
    resultIds: readonly string[],
  ): Promise<Map<string, ResultTarget>> {
    if (resultIds.length === 0) return new Map();
    const rows = await this.database.query<ResultTarget>(
      prepared(
        'score-target.results',
        sql`SELECT r.* FROM unnest(${resultIds}::text[]) AS ids(id) CROSS JOIN LATERAL (
            SELECT experiment_id, result_id, version AS result_version, trace_id, session_id, case_id FROM results
            WHERE result_id = ids.id AND workspace_id = ${workspaceId} OFFSET 0) r`,
      ),
    );
    return new Map(rows.map((row) => [row.result_id!, row]));
  }

  /** Returns the ids of the experiments that exist. */
  async findExperiments({ workspaceId }: Scope, experimentIds: readonly string[]): Promise<Set<string>> {
    if (experimentIds.length === 0) return new Set();
    const rows = await this.database.query<{ experiment_id: string }>(
      sql`SELECT experiment_id FROM experiments
        WHERE experiment_id = ANY (${experimentIds}::text[]) AND workspace_id = ${workspaceId}`,
    );
    return new Set(rows.map(({ experiment_id }) => experiment_id));
  }

  /** Returns the traces that were deleted. */
  async findDeletedTraces({ workspaceId }: Scope, traceIds: readonly string[]): Promise<ReadonlySet<string>> {
    return traceIds.length > 0
      ? this.deletedTraces.find(this.database, workspaceId, traceIds)
      : new Set<string>();
  }

  /**
   * Locks targets against other scores, until the transaction ends, so that each score supersedes the one before. Locks
   * results against being replaced, their experiments against being finalized, and traces against being deleted.
   *
   * All writers lock the experiments first, then the results, then traces, then other targets, each in the order of their ids, so
   * that they do not deadlock.
   */
  async lock(tx: Tx, workspaceId: string, targets: readonly TargetKey[]): Promise<LockedTargets> {
    const results = await this.lockResults(
      tx,
      workspaceId,
      targets.filter(({ kind }) => kind === 'result'),
    );
    const traceIds = targets.flatMap(({ kind, id }) => (kind === 'trace' ? id : []));
    const deletedTraces = await this.lockTraces(tx, workspaceId, traceIds);
    const others = targets.flatMap(({ kind, id }) =>
      kind === 'result' ? [] : `${workspaceId} ${kind} ${id}`,
    );
    if (others.length > 0) {
      await tx.query(
        prepared(
          'score-target.lock',
          sql`SELECT count(pg_advisory_xact_lock(hashtextextended('score of ' || target.id, 0)))
            FROM unnest(${others.sort()}::text[]) AS target(id)`,
        ),
      );
    }
    return { results, deletedTraces };
  }

  /**
   * Locks traces against being deleted. Returns those that were deleted: a trace without a row, which has not arrived or which
   * only results name, was not if there is no memory of it.
   */
  private async lockTraces(
    tx: Tx,
    workspaceId: string,
    traceIds: readonly string[],
  ): Promise<ReadonlySet<string>> {
    if (traceIds.length === 0) return new Set();
    const stored = await tx.query<{ trace_id: string }>(
      prepared(
        'score-target.lock-traces',
        sql`SELECT t.trace_id FROM unnest(${[...traceIds].sort()}::text[]) AS ids(trace_id),
          LATERAL (SELECT trace_id FROM traces
            WHERE workspace_id = ${workspaceId} AND trace_id = ids.trace_id FOR KEY SHARE) t`,
      ),
    );
    const storedIds = new Set(stored.map(({ trace_id }) => trace_id));
    return this.deletedTraces.find(
      tx,
      workspaceId,
      traceIds.filter((id) => !storedIds.has(id)),
    );
  }

  /**
   * Locks people's scores of the traces and sessions of a workspace, which results may name. Take it in shared mode to record
   * a score, and in exclusive mode to finalize an experiment, so that each score is either in the summary or later. Returns
   * the time of the database then, which tells which of them came first.
   */
  async lockPeople(tx: Tx, workspaceId: string, mode: 'shared' | 'exclusive'): Promise<Date> {
    const lock = raw(mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock');
    const [locked] = await tx.query<{ at: Date }>(
      sql`SELECT clock_timestamp() AS at FROM (SELECT ${lock}(hashtextextended('people of ' || ${workspaceId}, 0)) OFFSET 0) locked`,
    );
    return locked!.at;
  }

  /**
   * Increments the generation of finalized experiments whose results name a trace or a session, after a person's score of it
   * was deleted, so that their comparisons are computed again.
   */
  async bumpExperiments(
    tx: Tx,
    workspaceId: string,
    { trace_id, session_id }: Pick<ScoreRow, 'trace_id' | 'session_id'>,
  ): Promise<void> {
    const names = trace_id === null ? sql`session_id = ${session_id}` : sql`trace_id = ${trace_id}`;
    await tx.query(
      sql`UPDATE experiments SET generation = generation + 1
        WHERE workspace_id = ${workspaceId} AND experiment_status <> 'running' AND experiment_id = ANY (ARRAY(
          SELECT DISTINCT experiment_id FROM results WHERE workspace_id = ${workspaceId} AND ${names}))`,
    );
  }

  private async lockResults(
    tx: Tx,
    workspaceId: string,
    targets: readonly TargetKey[],
  ): Promise<ReadonlyMap<string, LockedResult>> {
    if (targets.length === 0) return new Map();
    const experimentIds = targets.map(({ experimentId }) => experimentId!);
    const experiments = await tx.query<{ experiment_id: string; is_late: boolean }>(
      sql`SELECT experiment_id, experiment_status <> 'running' AS is_late FROM experiments
        WHERE workspace_id = ${workspaceId} AND experiment_id = ANY (${[...new Set(experimentIds)]}::text[])
        ORDER BY experiment_id FOR SHARE`,
    );
    const isLate = new Map(experiments.map((one) => [one.experiment_id, one.is_late]));
    // OFFSET 0 makes PostgreSQL look up each result by its key, even in a workspace without statistics.
    const results = await tx.query<Omit<LockedResult, 'is_late'> & { experiment_id: string }>(
      sql`SELECT r.experiment_id, r.result_id, r.version, r.erased
        FROM (SELECT ${workspaceId}::text AS workspace_id, *
              FROM unnest(${experimentIds}::text[], ${targets.map(({ id }) => id)}::text[])
                AS ids(experiment_id, result_id)
              OFFSET 0) keys
        JOIN results r USING (workspace_id, experiment_id, result_id)
        ORDER BY r.result_id FOR UPDATE OF r`,
    );
    return new Map(
      results.map(({ experiment_id, ...row }) => [
        row.result_id,
        { ...row, is_late: isLate.get(experiment_id)! },
      ]),
    );
  }
}
