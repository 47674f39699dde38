import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Batcher, SMALL_WRITES } from '#platform/concurrency';
import {
  type BulkColumn,
  BulkColumns,
  Database,
  join,
  prepared,
  raw,
  type Sql,
  sql,
  type Tx,
} from '#platform/db';
import { storedJson, toRawJson } from '#platform/json';
import { duplicateOf, isDataError } from '#platform/problem';
import type { RecordSchemas } from '../datasets/dataset-schemas';
import { beginAppend, type RecordChange } from '../datasets/dataset.repository';
import type { RecordContent } from './record-content';
import { CONTENT_FIELDS, RECORD_COLUMNS, type RecordEntity } from './record.entity';
import { RECORD_WORDS, RecordWordsRepository } from './record-words.repository';

/** A version of a record to write. */
export interface NewVersion extends RecordContent {
  dataset_record_id: string;
  version: number;
  version_id: string;
}

/** A record from a request that adds only this one. */
interface SingleRecord {
  scope: Scope;
  datasetId: string;
  schemas: RecordSchemas;
  row: NewVersion;
}

const lengthOf = ({ input, expected, metadata }: NewVersion): number =>
  [input, expected, metadata].reduce((length: number, value) => length + toRawJson(value).text.length, 0);

const CONTENT = raw(CONTENT_FIELDS.join(', '));
const RETURNED = raw(RECORD_COLUMNS.map((column) => `records.${column}`).join(', '));
const ASSIGNMENTS = join(CONTENT_FIELDS.map((column) => raw(`${column} = new_version.${column}`)));

/** The unique index on the external ids of live records. */
const EXTERNAL_ID = 'records_external_id';

/** JSON null is stored as NULL. */
const jsonOf = (value: unknown): string | null => {
  const { text } = toRawJson(value);
  return text === 'null' ? null : storedJson(text);
};

const ROW = new BulkColumns<NewVersion>([
  { name: 'dataset_record_id', type: 'text', value: (row) => row.dataset_record_id },
  { name: 'version', type: 'int8', value: (row) => row.version },
  { name: 'version_id', type: 'text', value: (row) => row.version_id },
  ...(['input', 'expected', 'metadata', 'tags'] as const).map((name): BulkColumn<NewVersion> => ({
    name,
    type: 'json',
    value: (row) => jsonOf(row[name]),
  })),
  ...(['label', 'category', 'source_kind', 'source_ref', 'external_id'] as const).map(
    (name): BulkColumn<NewVersion> => ({ name, type: 'text', value: (row) => row[name] }),
  ),
]);

/**
 * Writes records and their versions, many in one statement. Rows are sent as arrays, which cost the server half as much as
 * one JSON parameter.
 */
@Injectable()
export class RecordWriteRepository {
  /** Coalesces records for one dataset. Each write locks the dataset's row until it commits, so single writes would queue. */
  private readonly small = new Batcher<SingleRecord, RecordEntity | null>({
    run: (records) => this.appendAll(records),
    max: SMALL_WRITES.max,
    isSequential: true,
    isWriting: true,
    isOfOneItem: isDataError,
  });

  constructor(
    private readonly database: Database,
    private readonly words: RecordWordsRepository,
  ) {}

  /** Adds one record, together with others that arrive at the same time. Returns null in the same cases as `append`. */
  async appendOne(
    scope: Scope,
    datasetId: string,
    schemas: RecordSchemas,
    row: NewVersion,
    signal: AbortSignal,
  ): Promise<RecordEntity | null> {
    const record = { scope, datasetId, schemas, row };
    if (lengthOf(row) > SMALL_WRITES.length) return (await this.appendAll([record]))[0]!;
    const { input_schema, expected_schema } = schemas;
    const schemaTexts = [input_schema?.text, expected_schema?.text];
    const key = [scope.workspaceId, scope.principalId, datasetId, ...schemaTexts];
    return this.small.add(key, record, signal);
  }

  /** Appends records with the same dataset and schemas. Throws if one of several has an external id that is taken. */
  private async appendAll(records: readonly SingleRecord[]): Promise<(RecordEntity | null)[]> {
    const { scope, datasetId, schemas } = records[0]!;
    const rows = records.map(({ row }) => row);
    const append = rows.length === 1 ? this.append.bind(this) : this.appendOrThrow.bind(this);
    const written = await append(scope, datasetId, schemas, rows);
    const byId = new Map(written?.map((row) => [row.dataset_record_id, row]));
    return rows.map(({ dataset_record_id }) => byId.get(dataset_record_id) ?? null);
  }

  /**
   * Adds records to a dataset in one statement, under a new revision. The dataset's row is locked only while the
   * statement runs, so a worker adds the words of the records later. Returns null, and writes nothing, if the dataset does
   * not exist, is archived or has other schemas, or if a live record has one of the external ids.
   */
  async append(
    scope: Scope,
    datasetId: string,
    schemas: RecordSchemas,
    rows: readonly NewVersion[],
  ): Promise<RecordEntity[] | null> {
    try {
      const written = await this.appendOrThrow(scope, datasetId, schemas, rows);
      return written.length > 0 ? written : null;
    } catch (error) {
      if (duplicateOf(error) === EXTERNAL_ID) return null;
      throw error;
    }
  }

  private async appendOrThrow(
    scope: Scope,
    datasetId: string,
    schemas: RecordSchemas,
    rows: readonly NewVersion[],
  ): Promise<RecordEntity[]> {
    const change = beginAppend(scope, datasetId, schemas, rows.length);
    const words = sql`CASE WHEN ${await this.words.isBehind()}::boolean THEN ${RECORD_WORDS} END`;
    const statement = returning(insertion(scope, change, rows, { words }));
    return this.database.write<RecordEntity>(prepared('record.append', statement));
  }

  /** Writes new records and their first versions. Returns the records on request. */
  insert(
    tx: Tx,
    scope: Scope,
    change: RecordChange,
    rows: readonly NewVersion[],
    { isReturning = false } = {},
  ): Promise<RecordEntity[]> {
    const statement = insertion(scope, startedChange(change), rows, { isAcquired: change.isAcquired });
    return tx.query(isReturning ? returning(statement) : prepared('record.insert', statement));
  }

  /** Writes the next versions of records. Returns the records on request. */
  update(
    tx: Tx,
    scope: Scope,
    change: RecordChange,
    rows: readonly NewVersion[],
    { isReturning = false } = {},
  ): Promise<RecordEntity[]> {
    const statement = sql`${withVersions(scope, startedChange(change), rows, change.isAcquired)}
      UPDATE records SET version = new_version.version, version_id = new_version.version_id, updated_at = new_version.at,
        ${ASSIGNMENTS},
        search = record_words(new_version.metadata, new_version.expected, new_version.input),
        acquired_version = coalesce(new_version.acquired_version, records.acquired_version)
      FROM new_version
      WHERE records.dataset_record_id = new_version.dataset_record_id AND records.workspace_id = new_version.workspace_id
        AND records.dataset_id = new_version.dataset_id`;
    return tx.query(isReturning ? returning(statement) : prepared('record.update', statement));
  }
}

const returning = (statement: Sql): Sql => sql`${statement} RETURNING ${RETURNED}`;

/** Returns a change that has already begun as a statement with the columns of `beginAppend`. */
const startedChange = ({ datasetId, revision, at }: RecordChange): Sql =>
  sql`SELECT ${datasetId}::text AS dataset_id, ${revision}::bigint AS revision, ${at}::timestamptz AS at`;

const insertion = (
  scope: Scope,
  change: Sql,
  rows: readonly NewVersion[],
  { isAcquired = false, words = RECORD_WORDS }: { isAcquired?: boolean | undefined; words?: Sql } = {},
): Sql =>
  sql`${withVersions(scope, change, rows, isAcquired)}
    INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version, version_id, ${CONTENT},
                         created_revision, created_at, updated_at, created_by, acquired_version, search)
    SELECT dataset_record_id, dataset_id, workspace_id, version, version_id, ${CONTENT}, revision, at, at, created_by,
           acquired_version, ${words}
    FROM new_version`;

/** The WITH clause of all statements: reads the rows as `new_version`, and writes them as versions. */
function withVersions(
  { workspaceId, principalId }: Scope,
  change: Sql,
  rows: readonly NewVersion[],
  isAcquired = false,
): Sql {
  return sql`WITH change AS (${change}), new_version AS MATERIALIZED (
    SELECT dataset_id, ${workspaceId}::text AS workspace_id, revision, at, ${principalId}::text AS created_by,
           dataset_record_id, version::integer AS version,
           CASE WHEN ${isAcquired}::boolean THEN version::integer END AS acquired_version,
           version_id, input, expected, metadata,
           ARRAY(SELECT json_array_elements_text(tags)) AS tags, label, category, source_kind, source_ref, external_id
    FROM change CROSS JOIN ${ROW.table(rows, 't')}
  ), versions AS (
    INSERT INTO record_versions (dataset_record_id, dataset_id, workspace_id, version, version_id, revision, ${CONTENT},
                                 created_at, created_by)
    SELECT dataset_record_id, dataset_id, workspace_id, version, version_id, revision, ${CONTENT}, at, created_by
    FROM new_version
  )`;
}
