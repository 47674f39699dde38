import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  Database,
  empty,
  join,
  prepared,
  raw,
  type Sql,
  sql,
  type SqlExecutor,
  type Tx,
  Where,
  WorkspaceRepository,
} from '#platform/db';
import { toJsonText } from '#platform/json';
import { addCreated, BY_NAME, listPage, type RowPage } from '#platform/paging';
import { configFilter } from './config-pairs';
import { ExperimentEntity } from './experiment.entity';
import type { ExperimentSearchDto } from './experiment-query.dto';

const COLUMNS = `experiment_id, workspace_id, name, experiment_name, description, config, config_pairs, dataset_id,
  dataset_version, dataset_revision, baseline_experiment_id, subject_kind, subject_id, context_manifest,
  experiment_status, metrics, error, summary, dataset_snapshot, tags, metadata, finalized_at, generation, created_at,
  updated_at, created_by, archived_at`;

/** What a write to an experiment's results must know of the experiment. */
export type ExperimentState = Pick<
  ExperimentEntity,
  | 'experiment_id'
  | 'experiment_status'
  | 'archived_at'
  | 'dataset_id'
  | 'dataset_version'
  | 'dataset_revision'
>;

/** The running experiment with these members is the one that is resumed. */
export type ResumeKey = Pick<ExperimentEntity, 'name' | 'experiment_name' | 'dataset_id' | 'dataset_version'>;

/** The trace and the session that a result names. */
interface NamedTargets {
  trace_id?: string | null;
  session_id?: string | null;
}

/**
 * Groups of a workspace's traces and sessions, each with one lock. There are few, so that an upload, which locks the
 * groups of everything its results name, never takes many locks.
 */
const NAME_GROUPS = 32;

/** The lock on a group of the workspace's traces and sessions. */
const nameLock = ({ workspaceId }: Scope, group: number | Sql): Sql =>
  sql`hashtext('named in ' || ${workspaceId}), ${group}`;

@Injectable()
export class ExperimentRepository extends WorkspaceRepository<ExperimentEntity> {
  constructor(database: Database) {
    super(database, ExperimentEntity, 'experiment_id');
  }

  /** Reads an experiment with the records of its snapshot. */
  override find(scope: Scope, id: string, on: SqlExecutor = this.database): Promise<ExperimentEntity | null> {
    return this.read(scope, id, on, 'experiment.get', empty);
  }

  /** Reads and locks an experiment with the records of its snapshot. */
  override lock(
    tx: Tx,
    scope: Scope,
    id: string,
    mode: 'share' | 'update',
  ): Promise<ExperimentEntity | null> {
    return this.read(scope, id, tx, `experiment.lock-${mode}`, raw(`FOR ${mode}`));
  }

  /**
   * Locks an experiment against being finalized until the transaction ends, and the traces and sessions that the results
   * name against new human scores. Any number of uploads hold these locks at once. Finalizing takes the exclusive lock,
   * so that no result slips in behind the summary.
   */
  async lockForResults(
    tx: Tx,
    scope: Scope,
    id: string,
    results: readonly NamedTargets[],
  ): Promise<ExperimentState | null> {
    // The names are locked after the experiment, so that nobody waits for them while this waits for the experiment.
    const [row] = await tx.query<ExperimentState>(
      prepared(
        'experiment.lock-for-results',
        sql`WITH experiment AS MATERIALIZED (
            SELECT experiment_id, experiment_status, archived_at, dataset_id, dataset_version, dataset_revision
            FROM experiments WHERE experiment_id = ${id} AND workspace_id = ${scope.workspaceId} FOR SHARE)
          SELECT experiment.*, (
            SELECT count(pg_advisory_xact_lock_shared(${nameLock(scope, raw('named.id'))}))
            FROM unnest(${nameGroupsOf(results)}::integer[]) AS named(id)) AS names
          FROM experiment`,
      ),
    );
    return row ?? null;
  }

  /** Locks the name of a trace or session, until the transaction ends, against uploads of results that name it. */
  async lockName(tx: Tx, scope: Scope, targetId: string): Promise<void> {
    const lock = nameLock(scope, sql`${nameGroupOf(targetId)}::integer`);
    await tx.query(prepared('experiment.lock-name', sql`SELECT pg_advisory_xact_lock(${lock})`));
  }

  /** A page of experiments. The filters of a list are some of those of a search. */
  list(scope: Scope, query: ExperimentSearchDto): Promise<RowPage<ExperimentEntity>> {
    const where = new Where(scope.key)
      .addIf(query.dataset_id, (id) => sql`dataset_id = ${id}`)
      .addIf(query.subject_kind, (kind) => sql`subject_kind = ${kind}`)
      .addIf(query.subject_id, (id) => sql`subject_id = ${id}`)
      .addIf(query.experiment_status, (status) => sql`experiment_status = ${status}`)
      .addIf(query.baseline_experiment_id, (id) => sql`baseline_experiment_id = ${id}`)
      .addIf(query.name, (name) => sql`name COLLATE "C" = ${name}`)
      .addIf(query.tags, (tags) => sql`tags @> ${tags}::text[]`)
      .addIf(query.tag, (tag) => sql`tags @> ARRAY[${tag}::text]`)
      .addIf(query.metadata, (metadata) => sql`metadata::jsonb @> ${toJsonText(metadata)}::jsonb`)
      .addIf(query.score, (score) => hasMean(scope, score))
      .addSearch(query.q);
    for (const forms of configFilter(query.config ?? [])) where.add(sql`config_pairs && ${forms}::text[]`);
    addCreated(where, { prefix: 'exp', id: 'experiment_id' }, query);
    return listPage<ExperimentEntity>(
      this.database,
      {
        columns: COLUMNS,
        from: 'experiments',
        where,
        id: 'experiment_id',
        sorts: BY_NAME,
        archivedAt: 'archived_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  /** Locks a resume key until the transaction ends, so that two clients do not both create its experiment. */
  async lockResume(tx: Tx, { workspaceId }: Scope, key: ResumeKey): Promise<void> {
    const { name, experiment_name, dataset_id, dataset_version } = key;
    const text = JSON.stringify([workspaceId, name, experiment_name, dataset_id, dataset_version]);
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${text}, 0))`);
  }

  /** Finds the newest running experiment of a resume key. */
  async findRunning(tx: Tx, { workspaceId }: Scope, key: ResumeKey): Promise<ExperimentEntity | null> {
    const [row] = await tx.query<ExperimentEntity>(
      sql`SELECT ${raw(COLUMNS)} FROM experiments
        WHERE workspace_id = ${workspaceId} AND name COLLATE "C" = ${key.name}
          AND experiment_name = ${key.experiment_name} AND dataset_id IS NOT DISTINCT FROM ${key.dataset_id}
          AND dataset_version IS NOT DISTINCT FROM ${key.dataset_version} AND experiment_status = 'running'
          AND archived_at IS NULL
        ORDER BY experiment_id DESC LIMIT 1`,
    );
    return row ?? null;
  }

  private async read(
    { workspaceId }: Scope,
    id: string,
    on: SqlExecutor,
    name: string,
    lock: Sql,
  ): Promise<ExperimentEntity | null> {
    const [row] = await on.query<ExperimentEntity>(
      prepared(
        name,
        sql`SELECT ${raw(COLUMNS)}, snapshot_records FROM experiments
          WHERE experiment_id = ${id} AND workspace_id = ${workspaceId} ${lock}`,
      ),
    );
    return row ?? null;
  }
}

/**
 * The condition that an experiment's summary has a mean of a scorer within bounds. `(SELECT …)` makes the planner go by
 * what workspaces and scorers have on average. It expects no rows for a workspace that the statistics do not know, and
 * would then read the whole table once per experiment.
 */
function hasMean(
  { workspaceId }: Scope,
  { scorer, gte, lte }: NonNullable<ExperimentSearchDto['score']>,
): Sql {
  const conditions = [
    sql`workspace_id = (SELECT ${workspaceId})`,
    sql`scorer = (SELECT ${scorer})`,
    ...(gte === undefined ? [] : [sql`mean >= ${gte}`]),
    ...(lte === undefined ? [] : [sql`mean <= ${lte}`]),
  ];
  return sql`experiment_id IN (SELECT experiment_id FROM experiment_scores WHERE ${join(conditions, ' AND ')})`;
}

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
