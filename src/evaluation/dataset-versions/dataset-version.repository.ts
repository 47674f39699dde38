import { setImmediate as turn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { CopyRows, Database, type SqlExecutor, type Tx, Where } from '#platform/db';
import { type ListQueryDto, listPage, type RowPage } from '#platform/paging';
import type { ChunkPlace } from './csv/csv.reader';
import type { DatasetVersionRow } from './dataset-version.entity';

const COLUMNS = `dataset_id, workspace_id, version, version_id, content_id, row_count, columns, size_bytes, sha256,
  case_id_column, mapping, options_sha256, created_at, created_by`;

/** What makes two uploads the same. */
export type VersionIdentity = Pick<DatasetVersionRow, 'dataset_id' | 'sha256' | 'options_sha256'>;

/** One piece of a file's bytes. */
export interface ChunkRow {
  ordinal: number;
  rows_before: number;
  row_offset: number | null;
  data: Buffer;
}

const CHUNK = `SELECT ordinal, rows_before, row_offset, data FROM dataset_chunks
  WHERE workspace_id = $1 AND content_id = $2`;

// Planned each time: a plan that is kept from when the table was small reads all of it when it is large.

export const GET_CHUNK = `${CHUNK} AND ordinal = $3`;

export const CHUNK_OF_ROW = `${CHUNK} AND rows_before < $3 ORDER BY ordinal DESC LIMIT 1`;

@Injectable()
export class DatasetVersionRepository {
  constructor(private readonly database: Database) {}

  async find(scope: Scope, datasetId: string, version: number): Promise<DatasetVersionRow | null> {
    const [row] = await this.database.query<DatasetVersionRow>(
      `SELECT ${COLUMNS} FROM dataset_versions WHERE workspace_id = $1 AND dataset_id = $2 AND version = $3`,
      [scope.workspaceId, datasetId, version],
    );
    return row ?? null;
  }

  /** The version that holds the same bytes, read in the same way. */
  async findSame(
    scope: Scope,
    { dataset_id, sha256, options_sha256 }: VersionIdentity,
    on: SqlExecutor = this.database,
  ): Promise<DatasetVersionRow | null> {
    const [row] = await on.query<DatasetVersionRow>(
      `SELECT ${COLUMNS} FROM dataset_versions
       WHERE workspace_id = $1 AND dataset_id = $2 AND sha256 = $3 AND options_sha256 = $4`,
      [scope.workspaceId, dataset_id, sha256, options_sha256],
    );
    return row ?? null;
  }

  list(scope: Scope, datasetId: string, query: ListQueryDto): Promise<RowPage<DatasetVersionRow>> {
    const where = new Where(scope.key).add('dataset_id = ?', datasetId);
    return listPage<DatasetVersionRow>(
      this.database,
      { columns: COLUMNS, from: 'dataset_versions', where, id: 'version_id', bytes: 'bytes' },
      query,
    );
  }

  /** A number for what a file holds, which comes before the version that it becomes. */
  async newContent(tx: Tx): Promise<number> {
    const [row] = await tx.query<{ id: number }>(`SELECT nextval('dataset_contents') AS id`);
    return row!.id;
  }

  /** Writes a file's bytes. @param data of each chunk in turn */
  async insertChunks(
    tx: Tx,
    scope: Scope,
    contentId: number,
    chunks: readonly ChunkPlace[],
    data: AsyncIterable<Buffer>,
  ): Promise<void> {
    await tx.copyIn(
      `COPY dataset_chunks (workspace_id, content_id, ordinal, rows_before, row_offset, data)
       FROM STDIN (FORMAT binary)`,
      chunkRows(scope, contentId, chunks, data),
    );
  }

  /** Writes the ids of a file's cases, in the order of its rows. */
  async insertCases(tx: Tx, scope: Scope, contentId: number, caseIds: readonly string[]): Promise<void> {
    await tx.copyIn(
      'COPY dataset_cases (workspace_id, content_id, case_id, row_number) FROM STDIN (FORMAT binary)',
      caseRows(scope, contentId, caseIds),
    );
  }

  async insert(tx: Tx, row: DatasetVersionRow): Promise<void> {
    await tx.query(
      `INSERT INTO dataset_versions (${COLUMNS})
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
      [
        row.dataset_id,
        row.workspace_id,
        row.version,
        row.version_id,
        row.content_id,
        row.row_count,
        row.columns,
        row.size_bytes,
        row.sha256,
        row.case_id_column,
        JSON.stringify(row.mapping),
        row.options_sha256,
        row.created_at,
        row.created_by,
      ],
    );
  }

  async chunk(scope: Scope, contentId: number, ordinal: number): Promise<ChunkRow | null> {
    const [row] = await this.database.query<ChunkRow>(GET_CHUNK, [scope.workspaceId, contentId, ordinal]);
    return row ?? null;
  }

  /** The chunk in which a row begins. */
  async chunkOfRow(scope: Scope, contentId: number, row: number): Promise<ChunkRow | null> {
    const [found] = await this.database.query<ChunkRow>(CHUNK_OF_ROW, [scope.workspaceId, contentId, row]);
    return found ?? null;
  }
}

async function* chunkRows(
  { workspaceId }: Scope,
  contentId: number,
  chunks: readonly ChunkPlace[],
  data: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  const rows = new CopyRows();
  let ordinal = 0;
  for await (const bytes of data) {
    const { rowsBefore, rowOffset } = chunks[ordinal]!;
    rows.row(6).text(workspaceId).int8(contentId).int4(ordinal).int4(rowsBefore).int4(rowOffset).bytea(bytes);
    yield rows.take();
    ordinal++;
  }
  yield rows.end();
}

async function* caseRows(
  { workspaceId }: Scope,
  contentId: number,
  caseIds: readonly string[],
): AsyncGenerator<Buffer, void, undefined> {
  const rows = new CopyRows();
  for (const [index, caseId] of caseIds.entries()) {
    rows
      .row(4)
      .text(workspaceId)
      .int8(contentId)
      .text(caseId)
      .int4(index + 1);
    if (!rows.isFull) continue;
    yield rows.take();
    await turn();
  }
  yield rows.end();
}
