import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, join, raw, type Sql, sql, type Tx, Where, WorkspaceScopedRepository } from '#platform/db';
import { toRawJson } from '#platform/json';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import { unknownScorers } from '../../scores';
import { configFilter } from './config-pairs';
import { ExperimentEntity } from './experiment.entity';
import type { ExperimentSearchDto } from './experiment-query.dto';

const COLUMNS = `experiment_id, workspace_id, name, experiment_name, description, config, config_pairs, dataset_id,
  dataset_version, dataset_revision, dataset_filter, dataset_erased, records_erased, expected_case_count, trials, run_key,
  baseline_experiment_id, baseline_erased, subject_kind, subject_id, context_manifest,
  experiment_status, metrics, error, summary, dataset_snapshot, tags, metadata, finalized_at, generation, created_at,
  updated_at, created_by, archived_at`;

/** The members that identify the experiment to resume. */
export type ResumeKey = Pick<
  ExperimentEntity,
  'name' | 'experiment_name' | 'dataset_id' | 'dataset_version' | 'run_key'
>;

@Injectable()
export class ExperimentRepository extends WorkspaceScopedRepository<ExperimentEntity> {
  constructor(database: Database) {
    super(database, ExperimentEntity, 'experiment_id', { bytes: 'bytes' });
  }

  /** Returns a page of experiments. A list has a subset of the filters of a search. */
  list(scope: Scope, query: ExperimentSearchDto): Promise<RowPage<ExperimentEntity>> {
    const where = new Where(scope.key)
      .addIndexed(query.dataset_id, (id) => sql`dataset_id = ${id}`)
      .addIndexed(query.subject_kind, (kind) => sql`subject_kind = ${kind}`)
      .addIndexed(query.subject_id, (id) => sql`subject_id = ${id}`)
      .addIndexed(query.experiment_status, (status) => sql`experiment_status = ${status}`)
      .addIndexed(query.baseline_experiment_id, (id) => sql`baseline_experiment_id = ${id}`)
      .addIndexed(query.name, (name) => sql`name COLLATE "C" = ${name}`)
      .addIf(query.run_key, (key) => sql`run_key = ${key}`)
      .addIf(query.tags, (tags) => sql`tags @> ${tags}::text[]`)
      .addIf(query.tag, (tag) => sql`tags @> ARRAY[${tag}::text]`)
      .addIf(
        query.metadata,
        (metadata) => sql`searchable_json(metadata) @> searchable_json(${toRawJson(metadata)}::json)`,
      )
      .addIf(query.score, (score) => hasMean(scope, score))
      .addSearch(query.q);
    for (const forms of configFilter(query.config ?? []))
      where.addScattered(sql`config_pairs && ${forms}::text[]`);
    return listPage<ExperimentEntity>(
      this.database,
      { ...this.listed, columns: COLUMNS, where, sorts: BY_NAME },
      query,
    );
  }

  /** Whether no summary has a mean of this name, no scorer has it, and no score. */
  async isUnknownScorer(scope: Scope, name: string): Promise<boolean> {
    const [found] = await this.database.query(
      sql`SELECT FROM experiment_scores WHERE workspace_id = (SELECT ${scope.workspaceId}) AND scorer = ${name} LIMIT 1`,
    );
    return found === undefined && (await unknownScorers(this.database, scope, [name])).length > 0;
  }

  /** Locks the names of a run until the transaction ends, so that two clients do not both create its experiment. */
  async lockNames(
    tx: Tx,
    { workspaceId }: Scope,
    { name, experiment_name }: Pick<ResumeKey, 'name' | 'experiment_name'>,
  ): Promise<void> {
    const text = JSON.stringify([workspaceId, name, experiment_name]);
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${text}, 0))`);
  }

  /** Locks an experiment against deletion until the transaction ends. Returns false if it does not exist. */
  async hold(tx: Tx, { workspaceId }: Scope, id: string): Promise<boolean> {
    const held = await tx.query(
      sql`SELECT FROM experiments WHERE experiment_id = ${id} AND workspace_id = ${workspaceId} FOR KEY SHARE`,
    );
    return held.length > 0;
  }

  /** Finds the experiment that has a run key. Failed and archived ones have released theirs. */
  async findByRunKey(
    tx: Tx,
    { workspaceId }: Scope,
    { name, experiment_name, run_key }: ResumeKey,
  ): Promise<ExperimentEntity | null> {
    const [row] = await tx.query<ExperimentEntity>(
      sql`SELECT ${raw(COLUMNS)} FROM experiments
        WHERE workspace_id = ${workspaceId} AND name = ${name} AND experiment_name = ${experiment_name}
          AND run_key = ${run_key} AND experiment_status <> 'failed' AND archived_at IS NULL`,
    );
    return row ?? null;
  }

  /** Finds the newest running experiment of these names, without a run key, over this dataset. */
  async findRunning(tx: Tx, { workspaceId }: Scope, key: ResumeKey): Promise<ExperimentEntity | null> {
    const [row] = await tx.query<ExperimentEntity>(
      sql`SELECT ${raw(COLUMNS)} FROM experiments
        WHERE workspace_id = ${workspaceId} AND name COLLATE "C" = ${key.name}
          AND experiment_name = ${key.experiment_name} AND dataset_id IS NOT DISTINCT FROM ${key.dataset_id}
          AND dataset_version IS NOT DISTINCT FROM ${key.dataset_version} AND experiment_status = 'running'
          AND run_key IS NULL AND archived_at IS NULL
        ORDER BY experiment_id DESC LIMIT 1`,
    );
    return row ?? null;
  }
}

/**
 * Returns the condition that an experiment's summary has a mean of a scorer within bounds. `(SELECT …)` makes the planner use
 * averages over workspaces and scorers. Otherwise it would expect no rows for a workspace that the statistics do not know,
 * and read the whole table once per experiment.
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
