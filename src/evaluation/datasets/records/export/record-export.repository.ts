import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, empty, indexOrdered, raw, sql, type SqlExecutor, Where } from '#platform/db';
import { CONTENT_FIELDS, type RecordEntity } from '../record.entity';
import { addRecordFilters, type RecordFilters } from '../record.repository';

/** Limits of one statement: the records that it examines, and the bytes that it returns. */
const BATCH_RECORDS = 500;
const BATCH_BYTES = 1024 * 1024;

const CONTENT = raw(['version', ...CONTENT_FIELDS].join(', '));

/** A record in an export. */
export type ExportedRecord = Pick<
  RecordEntity,
  'dataset_record_id' | 'version' | (typeof CONTENT_FIELDS)[number] | 'archived_at'
>;

/** The records to export, as of a revision of their dataset. */
export interface ExportSelection extends RecordFilters {
  datasetId: string;
  revision: number;
  include_archived?: boolean;
}

interface BatchRow extends ExportedRecord {
  /** The last record that the statement examined, and the number of examined records. */
  examined_last: string | null;
  examined_count: number;
  has_more: boolean | null;
}

@Injectable()
export class RecordExportRepository {
  constructor(private readonly database: Database) {}

  /**
   * Yields the records as they stood at a revision, oldest first, in batches. Later changes do not show, because every
   * version of a record is stored. Holds no connection between batches. A batch is empty if the filters exclude all the
   * records that it examined. The reader may stop after any batch.
   */
  async *batches(
    scope: Scope,
    selection: ExportSelection,
    on: SqlExecutor = this.database,
  ): AsyncGenerator<ExportedRecord[], void, undefined> {
    for (let after: string | null = ''; after !== null;) {
      const rows: BatchRow[] = await this.batch(scope, selection, after, on);
      yield rows
        .filter(({ dataset_record_id }) => dataset_record_id !== null)
        .map(({ examined_last: _last, examined_count: _count, has_more: _hasMore, ...record }) => record);
      const { dataset_record_id, has_more, examined_count, examined_last } = rows.at(-1)!;
      if (has_more) after = dataset_record_id;
      else after = examined_count < BATCH_RECORDS ? null : examined_last;
    }
  }

  private batch(
    scope: Scope,
    selection: ExportSelection,
    after: string,
    on: SqlExecutor,
  ): Promise<BatchRow[]> {
    const { datasetId, revision, include_archived } = selection;
    const matching = addRecordFilters(new Where(scope.key), selection);
    const wasArchived = sql`archived_during @> ${revision}::bigint`;
    return on.query<BatchRow>(
      indexOrdered(sql`WITH examined AS MATERIALIZED (
          SELECT dataset_record_id AS id, CASE WHEN ${wasArchived} THEN archived_at END AS archived_at
          FROM records
          WHERE workspace_id = ${scope.workspaceId} AND dataset_id = ${datasetId} AND created_revision <= ${revision}
            ${include_archived === true ? empty : sql`AND NOT ${wasArchived}`} AND dataset_record_id > ${after}
          ORDER BY dataset_record_id LIMIT ${raw(String(BATCH_RECORDS))}
        ), matches AS (
          SELECT version.*, archived_at, sum(bytes) OVER page - bytes AS bytes_before,
                 lead(true, 1, false) OVER page AS has_more
          FROM examined CROSS JOIN LATERAL (
            SELECT workspace_id, bytes, dataset_record_id, ${CONTENT} FROM record_versions
            WHERE dataset_id = ${datasetId} AND dataset_record_id = examined.id AND revision <= ${revision}
            ORDER BY revision DESC LIMIT 1
          ) version
          WHERE ${matching.sql}
          WINDOW page AS (ORDER BY dataset_record_id ROWS UNBOUNDED PRECEDING)
        )
        SELECT dataset_record_id, ${CONTENT}, archived_at, has_more, examined_last, examined_count
        FROM (SELECT max(id) AS examined_last, count(*) AS examined_count FROM examined) summary
        LEFT JOIN matches ON bytes_before < ${raw(String(BATCH_BYTES))}
        ORDER BY dataset_record_id`),
    );
  }
}
