import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { prepared, raw, type Sql, sql, type Tx } from '#platform/db';
import type { ExperimentState } from '../experiments/experiment.entity';
import type { ResultKey } from './result.repository';

export type ResultId = Pick<ResultKey, 'experiment_id' | 'result_id'>;

/** The trace and the session that a result names. */
type NamedTargets = Partial<Pick<ResultKey, 'trace_id' | 'session_id'>>;

/**
 * Groups of a workspace's traces and sessions, each with one lock. There are few, so that an upload, which locks the
 * groups of everything its results name, never takes many locks.
 */
const NAME_GROUPS = 32;

/** Results that a score of a trace or a session is written back to: the newest that name it. */
const NAMING_RESULTS_MAX = 1_000;

/** Locks that uploads of results, human scores and finalizing share. Each is held until the transaction ends. */
@Injectable()
export class ResultLockRepository {
  /**
   * Locks an experiment against being finalized, and the traces and sessions that new results name against new human
   * scores. Any number of uploads hold these locks at once. Finalizing takes the exclusive lock, so that no result slips
   * in behind the summary. Returns null without the experiment.
   */
  async lockForUpload(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    results: readonly NamedTargets[],
  ): Promise<ExperimentState | null> {
    // The names are locked after the experiment, so that nobody waits for them while this waits for the experiment.
    const [row] = await tx.query<ExperimentState>(
      prepared(
        'result-lock.upload',
        sql`WITH experiment AS MATERIALIZED (
            SELECT experiment_id, experiment_status, archived_at, dataset_id, dataset_version, dataset_revision
            FROM experiments WHERE experiment_id = ${experimentId} AND workspace_id = ${scope.workspaceId} FOR SHARE)
          SELECT experiment.*, (
            SELECT count(pg_advisory_xact_lock_shared(${nameLock(scope, raw('named.id'))}))
            FROM unnest(${nameGroupsOf(results)}::integer[]) AS named(id)) AS names
          FROM experiment`,
      ),
    );
    return row ?? null;
  }

  /**
   * Finds the newest results that name a trace or a session, at most 1,000, and keeps further ones from being uploaded.
   * An upload holds the names of its results shared, so either its results are found here, or it finds the score. The
   * experiments are locked before the name, because this waits for one that is being finalized, and uploads wait for the
   * name.
   */
  async lockNaming(tx: Tx, scope: Scope, kind: 'trace' | 'session', id: string): Promise<ResultId[]> {
    const newest = sql`SELECT experiment_id, result_id FROM results
      WHERE workspace_id = ${scope.workspaceId} AND ${raw(kind === 'trace' ? 'trace_id' : 'session_id')} = ${id}
      ORDER BY result_id DESC LIMIT ${raw(String(NAMING_RESULTS_MAX))}`;
    await lockRunning(tx, scope, sql`ARRAY(SELECT experiment_id FROM (${newest}) naming)`);
    const lock = nameLock(scope, sql`${nameGroupOf(id)}::integer`);
    await tx.query(prepared('result-lock.name', sql`SELECT pg_advisory_xact_lock(${lock})`));
    return tx.query<ResultId>(newest);
  }

  /**
   * Locks those of these results whose experiment is running, against all other writes. Waits for an experiment that is
   * being finalized, whose results are then left out.
   */
  async lockOfRunning(tx: Tx, scope: Scope, results: readonly ResultId[]): Promise<ResultKey[]> {
    const experimentIds = [...new Set(results.map((result) => result.experiment_id))];
    const running = new Set(await lockRunning(tx, scope, sql`${experimentIds}::text[]`));
    const open = results.filter((result) => running.has(result.experiment_id));
    if (open.length === 0) return [];
    // OFFSET 0 has each result looked up, also in a workspace that the statistics do not know.
    return tx.query<ResultKey>(
      sql`SELECT r.experiment_id, r.result_id, r.trace_id, r.session_id
        FROM (SELECT ${scope.workspaceId}::text AS workspace_id, *
              FROM unnest(${open.map((one) => one.experiment_id)}::text[],
                          ${open.map((one) => one.result_id)}::text[]) AS ids(experiment_id, result_id)
              OFFSET 0) given
        JOIN results r USING (workspace_id, experiment_id, result_id)
        ORDER BY r.result_id FOR UPDATE OF r`,
    );
  }
}

/** Locks those of these experiments that are running against being finalized. Returns their ids. */
async function lockRunning(tx: Tx, { workspaceId }: Scope, experimentIds: Sql): Promise<string[]> {
  const rows = await tx.query<{ experiment_id: string }>(
    sql`SELECT experiment_id FROM experiments
      WHERE workspace_id = ${workspaceId} AND experiment_id = ANY (${experimentIds})
        AND experiment_status = 'running' AND archived_at IS NULL
      ORDER BY experiment_id FOR SHARE`,
  );
  return rows.map((row) => row.experiment_id);
}

/** The lock on a group of the workspace's traces and sessions. */
const nameLock = ({ workspaceId }: Scope, group: Sql): Sql =>
  sql`hashtext('named in ' || ${workspaceId}), ${group}`;

/** The group of a trace or a session, by its id (FNV-1a). */
function nameGroupOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % NAME_GROUPS;
}

/** The groups of the traces and sessions that results name, each once. */
function nameGroupsOf(results: readonly NamedTargets[]): number[] {
  const ids = results.flatMap(({ trace_id, session_id }) => [trace_id, session_id]);
  return [...new Set(ids.filter((id) => typeof id === 'string').map(nameGroupOf))];
}
