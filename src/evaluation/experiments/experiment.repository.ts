import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type SqlExecutor, type Tx, Where, WorkspaceRepository } from '#platform/db';
import { toJsonText } from '#platform/json';
import { BY_NAME, listPage, type RowPage, addCreated } from '#platform/paging';
import { holdNames } from '../scores/upload-landing.repository';
import { configFilter } from './config-pairs';
import { ExperimentEntity, type ExperimentStatus } from './experiment.entity';
import type { ExperimentSearchDto } from './experiment-query.dto';

const COLUMNS = `experiment_id, workspace_id, name, experiment_name, description, config, config_pairs, dataset_id,
  dataset_version, dataset_revision, baseline_experiment_id, subject_kind, subject_id, context_manifest,
  experiment_status, metrics, error, summary, dataset_snapshot, tags, metadata, finalized_at, generation, created_at,
  updated_at, created_by, archived_at`;

const GET = {
  name: 'experiment.get',
  text: `SELECT ${COLUMNS}, snapshot_records FROM experiments WHERE experiment_id = $1 AND workspace_id = $2`,
};

/**
 * What a write to an experiment's results must know of it. What the results name is held once the experiment is: while
 * it is waited for, nobody is to wait for this.
 */
const LOCK_FOR_RESULTS = {
  name: 'experiment.lock-for-results',
  text: `WITH experiment AS MATERIALIZED (
      SELECT experiment_id, experiment_status, archived_at, dataset_id, dataset_version, dataset_revision
      FROM experiments WHERE experiment_id = $1 AND workspace_id = $2 FOR SHARE)
    SELECT experiment.*, ${holdNames('$2', '$3::integer[]')} AS names FROM experiment`,
};

export type ExperimentState = Pick<
  ExperimentEntity,
  | 'experiment_id'
  | 'experiment_status'
  | 'archived_at'
  | 'dataset_id'
  | 'dataset_version'
  | 'dataset_revision'
>;

/** Means of one summary that experiments are found by: an experiment may have a million, each result its own. */
const MEANS_FOUND_BY = 1_000;

/** What makes a running experiment the one that is resumed. */
export interface ResumeKey {
  name: string;
  experimentName: string;
  datasetId: string | null;
  datasetVersion: number | null;
}

@Injectable()
export class ExperimentRepository extends WorkspaceRepository<ExperimentEntity> {
  constructor(database: Database) {
    super(database, ExperimentEntity, 'experiment_id');
  }

  /** Reads an experiment with the records of its snapshot. */
  override async find(
    scope: Scope,
    id: string,
    on: SqlExecutor = this.database,
  ): Promise<ExperimentEntity | null> {
    const [row] = await on.query<ExperimentEntity>(GET, [id, scope.workspaceId]);
    return row ?? null;
  }

  /**
   * Locks an experiment against being finalized until the transaction ends, and what the results name (`namePartsOf`)
   * against being scored by people. Any number of writers hold these at once; finalizing takes the exclusive lock,
   * so no result slips in behind its summary.
   */
  async lockForResults(
    tx: Tx,
    scope: Scope,
    id: string,
    nameParts: readonly number[],
  ): Promise<ExperimentState | null> {
    const [row] = await tx.query<ExperimentState>(LOCK_FOR_RESULTS, [id, scope.workspaceId, nameParts]);
    return row ?? null;
  }

  /** A page of those that a list, or a search, asks for: a list has some of a search's filters. */
  list(scope: Scope, query: ExperimentSearchDto): Promise<RowPage<ExperimentEntity>> {
    const where = new Where(scope.key)
      .addIf(query.dataset_id, 'dataset_id = ?')
      .addIf(query.subject_kind, 'subject_kind = ?')
      .addIf(query.subject_id, 'subject_id = ?')
      .addIf(query.experiment_status, 'experiment_status = ?')
      .addIf(query.baseline_experiment_id, 'baseline_experiment_id = ?')
      .addIf(query.name, 'name COLLATE "C" = ?')
      .addIf(query.tags, 'tags @> ?::text[]')
      .addSearch(query.q);
    for (const forms of configFilter(query.config ?? [])) where.add('config_pairs && ?::text[]', forms);
    if (query.tag !== undefined) where.add('tags @> ARRAY[?::text]', query.tag);
    if (query.metadata) where.add('metadata::jsonb @> ?::jsonb', toJsonText(query.metadata));
    addCreated(where, { prefix: 'exp', id: 'experiment_id' }, query);
    addScore(where, scope, query.score);
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

  /** Makes the resuming of one key wait for others of the same key, until the transaction ends. */
  async lockResume(tx: Tx, scope: Scope, key: ResumeKey): Promise<void> {
    const text = JSON.stringify([
      scope.workspaceId,
      key.name,
      key.experimentName,
      key.datasetId,
      key.datasetVersion,
    ]);
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [text]);
  }

  /** The newest running experiment of the key. */
  async findRunning(tx: Tx, scope: Scope, key: ResumeKey): Promise<ExperimentEntity | null> {
    const [row] = await tx.query<ExperimentEntity>(
      `SELECT ${COLUMNS} FROM experiments
       WHERE workspace_id = $1 AND name COLLATE "C" = $2 AND experiment_name = $3 AND dataset_id IS NOT DISTINCT FROM $4
         AND dataset_version IS NOT DISTINCT FROM $5 AND experiment_status = 'running' AND archived_at IS NULL
       ORDER BY experiment_id DESC LIMIT 1`,
      [scope.workspaceId, key.name, key.experimentName, key.datasetId, key.datasetVersion],
    );
    return row ?? null;
  }

  /**
   * The move from `running` to a final status, as one conditional update. @returns whether it was made: not when
   * another request made it first. The change that it is part of raises the generation.
   */
  async finalize(tx: Tx, scope: Scope, id: string, final: FinalState): Promise<boolean> {
    const moved = await tx.query(
      `WITH moved AS (
         UPDATE experiments
         SET experiment_status = $3, summary = $4, dataset_snapshot = $5, snapshot_records = $6, finalized_at = $7
         WHERE experiment_id = $1 AND workspace_id = $2 AND experiment_status = 'running'
         RETURNING experiment_id, workspace_id, summary
       ), means AS (
         INSERT INTO experiment_scores (workspace_id, experiment_id, scorer, mean)
         SELECT workspace_id, experiment_id, score.key, (score.value->>'mean')::float8
         FROM moved CROSS JOIN LATERAL json_each(summary->'scores') AS score LIMIT ${MEANS_FOUND_BY}
       )
       SELECT 1 FROM moved`,
      [
        id,
        scope.workspaceId,
        final.status,
        final.summary,
        final.snapshot?.head ?? null,
        final.snapshot?.records ?? null,
        final.at,
      ],
    );
    return moved.length > 0;
  }
}

/**
 * Narrows to experiments with a mean of a scorer, as it was written down when they were finalized. `(SELECT …)`, because
 * the planner is to go by what workspaces and scorers have on the whole: of one that the statistics do not know it
 * believes that it has nothing, and would join by reading all for each.
 */
function addScore(where: Where, scope: Scope, score: ExperimentSearchDto['score']): void {
  if (!score) return;
  const mean = [
    `workspace_id = (SELECT ${where.parameter(scope.workspaceId)})`,
    `scorer = (SELECT ${where.parameter(score.scorer)})`,
    ...(score.gte === undefined ? [] : [`mean >= ${where.parameter(score.gte)}`]),
    ...(score.lte === undefined ? [] : [`mean <= ${where.parameter(score.lte)}`]),
  ];
  where.add(`experiment_id IN (SELECT experiment_id FROM experiment_scores WHERE ${mean.join(' AND ')})`);
}

export interface FinalState {
  status: Exclude<ExperimentStatus, 'running'>;
  /** JSON text. */
  summary: string;
  /** JSON texts of the snapshot without its records, and of the records. */
  snapshot: { head: string; records: string | null } | null;
  at: Date;
}
