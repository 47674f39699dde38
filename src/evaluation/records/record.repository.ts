import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  arrayParameter,
  Database,
  type SqlExecutor,
  type Tx,
  Where,
  WorkspaceRepository,
} from '#platform/db';
import { BY_CHANGE, type ListQueryDto, listPage, type RowPage } from '#platform/paging';
import { explainConstraint } from '#platform/problem';
import type { RecordListQueryDto } from './record.dto';
import { RecordEntity } from './record.entity';

explainConstraint(
  'records_external_id',
  'conflict',
  'The dataset has a live record of this external_id already.',
);

/** What each version of a record holds. */
const CONTENT = 'input, expected, metadata, tags, label, category, source_kind, source_ref, external_id';
const VERSION = `dataset_record_id, dataset_id, workspace_id, version, version_id, ${CONTENT}, created_at, created_by`;
const COLUMNS = `${VERSION}, created_revision, archived_revision, updated_at, archived_at`;

/** The shape in which rows are handed to a statement, as one JSON parameter: `json` members stay as they were sent. */
const ROW_SHAPE = `dataset_record_id text, version integer, version_id text, input json, expected json, metadata json,
  tags text[], label text, category text, source_kind text, source_ref text, external_id text`;

export type RecordVersionRow = Omit<
  RecordEntity,
  'created_revision' | 'archived_revision' | 'updated_at' | 'archived_at'
>;

/**
 * External ids in a dataset, each to be looked up by the keys that the row carries: compared with the parameters, a
 * dataset that the statistics do not know would be read from end to end.
 */
const GIVEN_IDS = `(
  SELECT $1::text AS workspace_id, $2::text AS dataset_id, external_id
  FROM (SELECT DISTINCT unnest($3::text[]) AS external_id) ids OFFSET 0) given`;

/** One change of a dataset's records: who made it, when, and under which revision. */
export interface RecordChange {
  datasetId: string;
  revision: number;
  at: Date;
}

/** What lists and exports of records are narrowed by. */
export type RecordFilters = Pick<
  RecordListQueryDto,
  'label' | 'category' | 'tag' | 'source_kind' | 'source_ref' | 'external_id'
>;

export const addRecordFilters = (where: Where, filters: RecordFilters): Where =>
  where
    .addIf(filters.label, 'label = ?')
    .addIf(filters.category, 'category = ?')
    .addIf(filters.tag, 'tags @> ARRAY[?::text]')
    .addIf(filters.source_kind, 'source_kind = ?')
    .addIf(filters.source_ref, 'source_ref = ?')
    .addIf(filters.external_id, 'external_id = ?');

@Injectable()
export class RecordRepository extends WorkspaceRepository<RecordEntity> {
  constructor(database: Database) {
    super(database, RecordEntity, 'dataset_record_id');
  }

  list(scope: Scope, datasetId: string, query: RecordListQueryDto): Promise<RowPage<RecordEntity>> {
    const where = new Where(scope.key).add('dataset_id = ?', datasetId);
    where.addSearch(query.q);
    addRecordFilters(where, query);
    return listPage<RecordEntity>(
      this.database,
      {
        columns: COLUMNS,
        from: 'records',
        where,
        id: 'dataset_record_id',
        sorts: BY_CHANGE,
        archivedAt: 'archived_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  listVersions(scope: Scope, recordId: string, query: ListQueryDto): Promise<RowPage<RecordVersionRow>> {
    const where = new Where(scope.key).add('dataset_record_id = ?', recordId);
    return listPage<RecordVersionRow>(
      this.database,
      { columns: VERSION, from: 'record_versions', where, id: 'version_id', bytes: 'bytes' },
      query,
    );
  }

  async findVersion(scope: Scope, recordId: string, version: number): Promise<RecordVersionRow | null> {
    const [row] = await this.database.query<RecordVersionRow>(
      `SELECT ${VERSION} FROM record_versions WHERE workspace_id = $1 AND dataset_record_id = $2 AND version = $3`,
      [scope.workspaceId, recordId, version],
    );
    return row ?? null;
  }

  /** The live records of a dataset that have one of these external ids. */
  findByExternalIds(
    on: SqlExecutor,
    scope: Scope,
    datasetId: string,
    ids: string[],
  ): Promise<RecordEntity[]> {
    return on.query<RecordEntity>(
      `SELECT ${COLUMNS} FROM ${GIVEN_IDS} JOIN records USING (workspace_id, dataset_id, external_id)
       WHERE archived_at IS NULL`,
      [scope.workspaceId, datasetId, ids],
    );
  }

  /** Of these external ids those that live records of the dataset have, and how many bytes each record makes. */
  sizesOf(
    on: SqlExecutor,
    scope: Scope,
    datasetId: string,
    ids: string[],
  ): Promise<{ external_id: string; bytes: number }[]> {
    return on.query(
      `SELECT external_id, bytes FROM ${GIVEN_IDS} JOIN records USING (workspace_id, dataset_id, external_id)
       WHERE archived_at IS NULL`,
      [scope.workspaceId, datasetId, arrayParameter('text', ids)],
    );
  }

  /** Writes new records and their first versions. @param rows JSON array of the rows' own columns. */
  insertMany(
    tx: Tx,
    scope: Scope,
    { datasetId, revision, at }: RecordChange,
    rows: string,
  ): Promise<RecordEntity[]> {
    return tx.query<RecordEntity>(
      `WITH given AS (SELECT * FROM json_to_recordset($1::json) AS t(${ROW_SHAPE})),
       inserted AS (
         INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version, version_id, ${CONTENT},
                              created_revision, created_at, updated_at, created_by)
         SELECT dataset_record_id, $2, $3, 1, version_id, ${CONTENT}, $4, $5, $5, $6 FROM given
         RETURNING ${COLUMNS}
       ), versions AS (
         INSERT INTO record_versions (dataset_record_id, dataset_id, workspace_id, version, version_id, revision,
                                      ${CONTENT}, created_at, created_by)
         SELECT dataset_record_id, $2, $3, 1, version_id, $4, ${CONTENT}, $5, $6 FROM given
       )
       SELECT * FROM inserted`,
      [rows, datasetId, scope.workspaceId, revision, at, scope.principalId],
    );
  }

  /** Writes the next versions of records. @param rows as for `insertMany`, each with its new version. */
  updateMany(
    tx: Tx,
    scope: Scope,
    { datasetId, revision, at }: RecordChange,
    rows: string,
  ): Promise<RecordEntity[]> {
    const assignments = CONTENT.split(', ').map((column) => `${column} = given.${column}`);
    return tx.query<RecordEntity>(
      `WITH given AS MATERIALIZED (
         SELECT $2::text AS dataset_id, $3::text AS workspace_id, * FROM json_to_recordset($1::json) AS t(${ROW_SHAPE})),
       versions AS (
         INSERT INTO record_versions (dataset_record_id, dataset_id, workspace_id, version, version_id, revision,
                                      ${CONTENT}, created_at, created_by)
         SELECT dataset_record_id, dataset_id, workspace_id, version, version_id, $4, ${CONTENT}, $5, $6 FROM given
       )
       UPDATE records SET version = given.version, version_id = given.version_id, ${assignments.join(', ')}, updated_at = $5
       FROM given
       WHERE records.dataset_record_id = given.dataset_record_id AND records.workspace_id = given.workspace_id
         AND records.dataset_id = given.dataset_id
       RETURNING ${COLUMNS.split(', ')
         .map((column) => `records.${column.trim()}`)
         .join(', ')}`,
      [rows, datasetId, scope.workspaceId, revision, at, scope.principalId],
    );
  }
}
