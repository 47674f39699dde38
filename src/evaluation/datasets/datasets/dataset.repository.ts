import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, firstRow, sql, type Sql, type Tx, Where, WorkspaceScopedRepository } from '#platform/db';
import { toRawJson } from '#platform/json';
import { BY_FREQUENT_CHANGE, BY_NAME, listPage, type RowPage } from '#platform/paging';
import type { RecordSchemas } from './dataset-schemas';
import type { DatasetSearchDto } from './dataset.dto';
import { DatasetEntity } from './dataset.entity';

/** One change of a dataset's records, under one of the dataset's revisions. */
export interface RecordChange {
  datasetId: string;
  revision: number;
  at: Date;
  /** Whether the change installs a release of the store. */
  isAcquired?: boolean;
}

/** An experiment that is to become a baseline. */
export interface BaselineRow {
  experiment_id: string;
  name: string;
  dataset_id: string | null;
  experiment_status: string;
  archived_at: Date | null;
}

/**
 * Returns the statement that begins a change of a live dataset if the dataset still has these schemas. The statement
 * raises the revision and counts the new records. It returns the dataset's id, the revision, and `at`, the time of the
 * change, which never precedes the time of an earlier revision. It returns no row if there is no such dataset.
 *
 * `IS TRUE` forces a lookup by primary key. PostgreSQL caches the plan while the table is almost empty, when any index
 * looks equally good.
 */
export const beginAppend = (
  { workspaceId }: Scope,
  datasetId: string,
  { input_schema, expected_schema }: RecordSchemas,
  recordsAdded: number,
): Sql =>
  sql`UPDATE datasets
    SET revision = revision + 1, record_count = record_count + ${recordsAdded}::integer,
        updated_at = greatest(updated_at, ${new Date()}::timestamptz)
    WHERE dataset_id = ${datasetId} AND (workspace_id = ${workspaceId} AND archived_at IS NULL
      AND input_schema::text IS NOT DISTINCT FROM ${input_schema}::text
      AND expected_schema::text IS NOT DISTINCT FROM ${expected_schema}::text) IS TRUE
    RETURNING dataset_id, revision, updated_at AS at`;

@Injectable()
export class DatasetRepository extends WorkspaceScopedRepository<DatasetEntity> {
  constructor(database: Database) {
    super(database, DatasetEntity, 'dataset_id', { bytes: 'bytes' });
  }

  /** Returns a page of datasets. A list has a subset of the filters of a search. */
  list(scope: Scope, query: DatasetSearchDto): Promise<RowPage<DatasetEntity>> {
    const where = new Where(scope.key)
      .addIndexed(query.name, (name) => sql`name COLLATE "C" = ${name}`)
      .addIf(query.tag, (tag) => sql`tags @> ARRAY[${tag}::text]`)
      .addIf(query.tags, (tags) => sql`tags @> ${tags}::text[]`)
      .addIf(
        query.metadata,
        (metadata) => sql`searchable_json(metadata) @> searchable_json(${toRawJson(metadata)}::json)`,
      )
      .addSearch(query.q);
    return listPage<DatasetEntity>(
      this.database,
      { ...this.listed, where, sorts: { ...BY_NAME, ...BY_FREQUENT_CHANGE } },
      query,
    );
  }

  /**
   * Begins one change of the dataset's records: raises the revision and counts the live records. The row stays locked
   * until the transaction ends, so that revisions are in the order in which their changes commit.
   */
  async beginChange(
    tx: Tx,
    { workspaceId }: Scope,
    datasetId: string,
    recordsAdded: number,
  ): Promise<RecordChange> {
    const at = new Date();
    const row = await firstRow<{ revision: number }>(
      tx,
      'dataset.begin-change',
      sql`UPDATE datasets
        SET revision = revision + 1, record_count = record_count + ${recordsAdded}, updated_at = ${at}
        WHERE dataset_id = ${datasetId} AND workspace_id = ${workspaceId} RETURNING revision`,
    );
    return { datasetId, revision: row!.revision, at };
  }

  /** Returns the number of the dataset's next CSV version, which is a change of the dataset. The row stays locked. */
  async nextVersion(tx: Tx, { workspaceId }: Scope, id: string, rowCount: number, at: Date): Promise<number> {
    const [row] = await tx.query<{ latest_version: number }>(
      sql`UPDATE datasets
        SET last_version = last_version + 1, latest_version = last_version + 1, row_count = ${rowCount},
            revision = revision + 1, updated_at = ${at}
        WHERE dataset_id = ${id} AND workspace_id = ${workspaceId} RETURNING latest_version`,
    );
    return row!.latest_version;
  }

  /** Finds the newest CSV version again after one was deleted, which is a change of the locked dataset. */
  async findLatestVersion(tx: Tx, { workspaceId }: Scope, id: string): Promise<void> {
    await tx.query(
      sql`UPDATE datasets SET (latest_version, row_count) = (
            SELECT max(version), (array_agg(v.row_count ORDER BY version DESC))[1] FROM dataset_versions v
            WHERE v.dataset_id = datasets.dataset_id AND v.workspace_id = datasets.workspace_id),
          revision = revision + 1, updated_at = greatest(updated_at, ${new Date()}::timestamptz)
        WHERE dataset_id = ${id} AND workspace_id = ${workspaceId}`,
    );
  }

  /** Returns the experiments with these ids, locked against changes until the transaction ends. */
  async lockExperiments(
    tx: Tx,
    { workspaceId }: Scope,
    ids: readonly string[],
  ): Promise<Map<string, BaselineRow>> {
    const rows = await tx.query<BaselineRow>(
      sql`SELECT experiment_id, name, dataset_id, experiment_status, archived_at FROM experiments
        WHERE experiment_id = ANY (${ids}::text[]) AND workspace_id = ${workspaceId}
        ORDER BY experiment_id FOR SHARE`,
    );
    return new Map(rows.map((row) => [row.experiment_id, row]));
  }
}
