import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { prepared, raw, type Sql, sql, type Tx } from '#platform/db';
import type { ExperimentState } from '../experiments/experiment.entity';
import type { ResultId, ResultKey } from './result.repository';

/** A result that a score is written to. */
export type LockedResult = ResultKey & {
  /** Whether its experiment is finalized, so that `results.scores` does not change. */
  is_finalized: boolean;
};

/** The trace and the session that a result references. */
type References = Partial<Pick<ResultKey, 'trace_id' | 'session_id'>>;

/**
 * Number of locks that the traces and sessions of a workspace share, by hash. It is small, so that an upload, which locks
 * everything its results reference, never takes many locks.
 */
const LOCK_GROUPS = 32;

/** Maximum number of results that a score of a trace or a session is written back to: the newest that reference it. */
const REFERENCING_RESULTS_MAX = 1_000;

/** Locks that uploads of results, human scores and finalizing share. Each is held until the transaction ends. */
@Injectable()
export class ResultLockRepository {
  /**
   * Locks an experiment against being finalized, and the traces and sessions that new results reference against new human
   * scores. Any number of uploads hold these locks at once. Finalizing takes the exclusive lock, so that no result slips
   * in behind the summary. Returns null without the experiment.
   */
  async lockForUpload(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    results: readonly References[],
  ): Promise<ExperimentState | null> {
    // Locks the experiment first, so that no upload waits for traces or sessions while this one waits for the experiment.
    const [row] = await tx.query<ExperimentState>(
      prepared(
        'result-lock.upload',
        sql`WITH experiment AS MATERIALIZED (
            SELECT experiment_id, experiment_status, archived_at, dataset_id, dataset_version, dataset_revision,
                   dataset_filter
            FROM experiments WHERE experiment_id = ${experimentId} AND workspace_id = ${scope.workspaceId} FOR SHARE)
          SELECT experiment.*, (
            SELECT count(pg_advisory_xact_lock_shared(${targetLock(scope, raw('target_group.id'))}))
            FROM unnest(${groupsOf(results)}::integer[]) AS target_group(id)) AS locks
          FROM experiment`,
      ),
    );
    return row ?? null;
  }

  /**
   * Finds the newest results that reference a trace or a session, at most 1,000, and blocks uploads of further ones. An
   * upload holds a shared lock on its traces and sessions, so either its results are found here, or it finds the score.
   * The experiments are locked first, because this may wait for one that is being finalized, while uploads wait for the
   * lock on the trace or session.
   */
  async lockReferencing(tx: Tx, scope: Scope, kind: 'trace' | 'session', id: string): Promise<ResultId[]> {
    const newest = sql`SELECT experiment_id, result_id FROM results
      WHERE workspace_id = ${scope.workspaceId} AND ${raw(kind === 'trace' ? 'trace_id' : 'session_id')} = ${id}
      ORDER BY result_id DESC LIMIT ${raw(String(REFERENCING_RESULTS_MAX))}`;
    await lockRunning(tx, scope, sql`ARRAY(SELECT experiment_id FROM (${newest}) referencing)`);
    const lock = targetLock(scope, sql`${groupOf(id)}::integer`);
    await tx.query(prepared('result-lock.target', sql`SELECT pg_advisory_xact_lock(${lock})`));
    return tx.query<ResultId>(newest);
  }

  /**
   * Locks results against all other writes, and returns them, except those of archived experiments that were not
   * finalized. Waits for an experiment that is being finalized.
   */
  async lockForScores(tx: Tx, scope: Scope, results: readonly ResultId[]): Promise<LockedResult[]> {
    const experimentIds = [...new Set(results.map((result) => result.experiment_id))];
    const running = await lockRunning(tx, scope, sql`${experimentIds}::text[]`);
    const finalized =
      running.length === experimentIds.length ? [] : await finalizedOf(tx, scope, experimentIds);
    const isFinalized = new Map([
      ...running.map((id) => [id, false] as const),
      ...finalized.map((id) => [id, true] as const),
    ]);
    const open = results.filter((result) => isFinalized.has(result.experiment_id));
    if (open.length === 0) return [];
    // OFFSET 0 forces a lookup of each result, even in a workspace that the statistics do not know.
    const rows = await tx.query<ResultKey>(
      sql`SELECT r.experiment_id, r.result_id, r.version, r.trace_id, r.session_id
        FROM (SELECT ${scope.workspaceId}::text AS workspace_id, *
              FROM unnest(${open.map((one) => one.experiment_id)}::text[],
                          ${open.map((one) => one.result_id)}::text[]) AS ids(experiment_id, result_id)
              OFFSET 0) keys
        JOIN results r USING (workspace_id, experiment_id, result_id)
        ORDER BY r.result_id FOR UPDATE OF r`,
    );
    return rows.map((row) => ({ ...row, is_finalized: isFinalized.get(row.experiment_id)! }));
  }
}

/** Returns the ids of the finalized experiments among these. They stay finalized, so they are not locked. */
async function finalizedOf(
  tx: Tx,
  { workspaceId }: Scope,
  experimentIds: readonly string[],
): Promise<string[]> {
  const rows = await tx.query<{ experiment_id: string }>(
    sql`SELECT experiment_id FROM experiments
      WHERE workspace_id = ${workspaceId} AND experiment_id = ANY (${experimentIds}::text[])
        AND experiment_status <> 'running'`,
  );
  return rows.map((row) => row.experiment_id);
}

/** Locks the running ones among these experiments against being finalized. Returns their ids. */
async function lockRunning(tx: Tx, { workspaceId }: Scope, experimentIds: Sql): Promise<string[]> {
  const rows = await tx.query<{ experiment_id: string }>(
    sql`SELECT experiment_id FROM experiments
      WHERE workspace_id = ${workspaceId} AND experiment_id = ANY (${experimentIds})
        AND experiment_status = 'running' AND archived_at IS NULL
      ORDER BY experiment_id FOR SHARE`,
  );
  return rows.map((row) => row.experiment_id);
}

/** The advisory lock on a group of the workspace's traces and sessions. */
const targetLock = ({ workspaceId }: Scope, group: Sql): Sql =>
  sql`hashtext('named in ' || ${workspaceId}), ${group}`;

/** The lock group of a trace or a session, by its id (FNV-1a). */
function groupOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % LOCK_GROUPS;
}

/** The lock groups of the traces and sessions that results reference, each once. */
function groupsOf(results: readonly References[]): number[] {
  const ids = results.flatMap(({ trace_id, session_id }) => [trace_id, session_id]);
  return [...new Set(ids.filter((id) => typeof id === 'string').map(groupOf))];
}
