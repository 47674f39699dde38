import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { yieldToEventLoop } from '#platform/concurrency';
import { BulkColumns, Database, raw, type Sql, sql, type SqlExecutor, type Tx, Where } from '#platform/db';
import { type ListQueryDto, listPage, type RowPage } from '#platform/paging';
import type { CsvLayout, CsvMapping } from './csv/csv.columns';
import type { ChunkPlace } from './csv/csv.reader';

/** A CSV file of a dataset. It never changes. */
export interface DatasetVersionRow {
  dataset_id: string;
  workspace_id: string;
  version: number;
  version_id: string;
  /** Key of its chunks and case ids. */
  content_id: number;
  row_count: number;
  columns: string[];
  size_bytes: number;
  /** SHA-256 of the bytes, in hexadecimal. */
  sha256: string;
  /** Null if row numbers are the case ids. */
  case_id_column: string | null;
  /** `value_columns` is absent if there are none. */
  mapping: CsvMapping & { value_columns?: string[] };
  /** SHA-256 of `case_id_column` and `mapping`. */
  options_sha256: string;
  created_at: Date;
  created_by: string;
}

/** Returns how the columns of a version are read. */
export const layoutOfVersion = ({ columns, case_id_column, mapping }: DatasetVersionRow): CsvLayout => ({
  columns,
  caseIdColumn: case_id_column,
  mapping,
  valueColumns: mapping.value_columns ?? [],
});

/** The columns that identify a version: two uploads with equal values are the same version. */
export type VersionIdentity = Pick<DatasetVersionRow, 'dataset_id' | 'sha256' | 'options_sha256'>;

/** One piece of a file's bytes. */
export interface ChunkRow {
  ordinal: number;
  rows_before: number;
  row_offset: number | null;
  data: Buffer;
}

const COLUMNS = `dataset_id, workspace_id, version, version_id, content_id, row_count, columns, size_bytes, sha256,
  case_id_column, mapping, options_sha256, created_at, created_by`;

/** A row number as a case id. */
const ROW_NUMBER = /^[1-9][0-9]{0,8}$/;

/**
 * Stores CSV versions with their bytes and case ids. Statements that read chunks and cases are not prepared, because a plan
 * that was cached while the table was small would later scan all of it.
 */
@Injectable()
export class DatasetVersionRepository {
  constructor(private readonly database: Database) {}

  find(
    scope: Scope,
    datasetId: string,
    version: number,
    on?: SqlExecutor,
  ): Promise<DatasetVersionRow | null> {
    return this.findBy(scope, datasetId, sql`version = ${version}`, on);
  }

  findById(scope: Scope, datasetId: string, id: string, on: SqlExecutor): Promise<DatasetVersionRow | null> {
    return this.findBy(scope, datasetId, sql`version_id = ${id}`, on);
  }

  /** Finds the version with the same bytes and options. */
  findSame(
    scope: Scope,
    { dataset_id, sha256, options_sha256 }: VersionIdentity,
    on?: SqlExecutor,
  ): Promise<DatasetVersionRow | null> {
    const isSame = sql`sha256 = ${sha256} AND options_sha256 = ${options_sha256}`;
    return this.findBy(scope, dataset_id, isSame, on);
  }

  private async findBy(
    { workspaceId }: Scope,
    datasetId: string,
    condition: Sql,
    on: SqlExecutor = this.database,
  ): Promise<DatasetVersionRow | null> {
    const [row] = await on.query<DatasetVersionRow>(
      sql`SELECT ${raw(COLUMNS)} FROM dataset_versions
        WHERE workspace_id = ${workspaceId} AND dataset_id = ${datasetId} AND ${condition}`,
    );
    return row ?? null;
  }

  list(scope: Scope, datasetId: string, query: ListQueryDto): Promise<RowPage<DatasetVersionRow>> {
    const where = new Where(scope.key).add(sql`dataset_id = ${datasetId}`);
    return listPage<DatasetVersionRow>(
      this.database,
      {
        columns: COLUMNS,
        from: 'dataset_versions',
        where,
        id: 'version',
        createdAt: 'created_at',
        idType: 'int8',
        bytes: 'bytes',
      },
      query,
    );
  }

  /** Returns the ids that are cases of a version, each with its row number. */
  async existingCases(
    on: SqlExecutor | undefined,
    scope: Scope,
    datasetId: string,
    number: number,
    ids: readonly string[],
  ): Promise<Map<string, number>> {
    const version = await this.find(scope, datasetId, number, on);
    if (!version) return new Map();
    const { content_id, row_count } = version;
    if (version.case_id_column === null) {
      const rowNumbers = ids.filter((id) => ROW_NUMBER.test(id) && Number(id) <= row_count);
      return new Map(rowNumbers.map((id) => [id, Number(id)]));
    }
    // OFFSET 0 forces a lookup of each id, even in a file that is newer than the statistics.
    const rows = await (on ?? this.database).query<{ case_id: string; row_number: number }>(
      sql`SELECT case_id, row_number
        FROM (SELECT ${scope.workspaceId}::text AS workspace_id, ${content_id}::bigint AS content_id, case_id
              FROM unnest(${ids}::text[]) AS ids(case_id) OFFSET 0) keys
        JOIN dataset_cases USING (workspace_id, content_id, case_id)`,
    );
    return new Map(rows.map((row) => [row.case_id, row.row_number]));
  }

  /** Returns a new key for the content of a file, which is written before the version. */
  async newContent(tx: Tx): Promise<number> {
    const [row] = await tx.query<{ id: number }>(sql`SELECT nextval('dataset_contents') AS id`);
    return row!.id;
  }

  /** Writes a file's bytes. @param data the bytes of each chunk, in order */
  async insertChunks(
    tx: Tx,
    scope: Scope,
    contentId: number,
    chunks: readonly ChunkPlace[],
    data: AsyncIterable<Buffer>,
  ): Promise<void> {
    await tx.copyIn(
      `COPY dataset_chunks (${CHUNKS.names}) FROM STDIN (FORMAT binary)`,
      CHUNKS.copyChunks(chunkRows(scope, contentId, chunks, data)),
    );
  }

  /** Writes the ids of a file's cases, in the order of its rows. */
  async insertCases(tx: Tx, scope: Scope, contentId: number, caseIds: readonly string[]): Promise<void> {
    await tx.copyIn(
      `COPY dataset_cases (${CASES.names}) FROM STDIN (FORMAT binary)`,
      CASES.copyChunks(caseRows(scope, contentId, caseIds)),
    );
  }

  async insert(tx: Tx, row: DatasetVersionRow): Promise<void> {
    await tx.query(
      sql`INSERT INTO dataset_versions (${raw(COLUMNS)})
        VALUES (${row.dataset_id}, ${row.workspace_id}, ${row.version}, ${row.version_id}, ${row.content_id},
                ${row.row_count}, ${row.columns}, ${row.size_bytes}, ${row.sha256}, ${row.case_id_column},
                ${JSON.stringify(row.mapping)}, ${row.options_sha256}, ${row.created_at}, ${row.created_by})`,
    );
  }

  /** Deletes a version with its bytes and case ids. The experiments that pin it say that it was deleted. */
  async delete(
    tx: Tx,
    { workspaceId }: Scope,
    { dataset_id, version, content_id }: DatasetVersionRow,
  ): Promise<void> {
    const isContent = sql`workspace_id = ${workspaceId} AND content_id = ${content_id}`;
    await tx.query(sql`DELETE FROM dataset_cases WHERE ${isContent}`);
    await tx.query(sql`DELETE FROM dataset_chunks WHERE ${isContent}`);
    await tx.query(
      sql`DELETE FROM dataset_versions
        WHERE workspace_id = ${workspaceId} AND dataset_id = ${dataset_id} AND version = ${version}`,
    );
    await tx.query(
      sql`UPDATE experiments SET dataset_erased = true, generation = generation + 1
        WHERE workspace_id = ${workspaceId} AND dataset_id = ${dataset_id} AND dataset_version = ${version}`,
    );
  }

  /** Reads one chunk of a file: by its ordinal, or the chunk in which a row begins. */
  async chunk(
    { workspaceId }: Scope,
    contentId: number,
    at: { ordinal: number } | { row: number },
    on: SqlExecutor = this.database,
  ): Promise<ChunkRow> {
    const place =
      'row' in at ? sql`rows_before < ${at.row} ORDER BY ordinal DESC LIMIT 1` : sql`ordinal = ${at.ordinal}`;
    const [chunk] = await on.query<ChunkRow>(
      sql`SELECT ordinal, rows_before, row_offset, data FROM dataset_chunks
        WHERE workspace_id = ${workspaceId} AND content_id = ${contentId} AND ${place}`,
    );
    if (!chunk) throw new Error(`A chunk of content ${contentId} is missing.`);
    return chunk;
  }
}

interface ChunkToStore {
  workspaceId: string;
  contentId: number;
  ordinal: number;
  place: ChunkPlace;
  data: Buffer;
}

const CHUNKS = new BulkColumns<ChunkToStore>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'content_id', type: 'int8', value: ({ contentId }) => contentId },
  { name: 'ordinal', type: 'int4', value: ({ ordinal }) => ordinal },
  { name: 'rows_before', type: 'int4', value: ({ place }) => place.rowsBefore },
  { name: 'row_offset', type: 'int4', value: ({ place }) => place.rowOffset },
  { name: 'data', type: 'bytea', value: ({ data }) => data },
]);

async function* chunkRows(
  { workspaceId }: Scope,
  contentId: number,
  places: readonly ChunkPlace[],
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<ChunkToStore[], void, undefined> {
  let ordinal = 0;
  for await (const data of chunks) {
    yield [{ workspaceId, contentId, ordinal, place: places[ordinal]!, data }];
    ordinal++;
  }
}

/** Number of case ids that are encoded without a pause. */
const CASES_AT_ONCE = 1_000;

interface CaseToStore {
  workspaceId: string;
  contentId: number;
  caseId: string;
  rowNumber: number;
}

const CASES = new BulkColumns<CaseToStore>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'content_id', type: 'int8', value: ({ contentId }) => contentId },
  { name: 'case_id', type: 'text', value: ({ caseId }) => caseId },
  { name: 'row_number', type: 'int4', value: ({ rowNumber }) => rowNumber },
]);

async function* caseRows(
  { workspaceId }: Scope,
  contentId: number,
  caseIds: readonly string[],
): AsyncGenerator<CaseToStore[], void, undefined> {
  for (let at = 0; at < caseIds.length; at += CASES_AT_ONCE) {
    const batch = caseIds.slice(at, at + CASES_AT_ONCE);
    yield batch.map((caseId, index) => ({ workspaceId, contentId, caseId, rowNumber: at + index + 1 }));
    await yieldToEventLoop();
  }
}
