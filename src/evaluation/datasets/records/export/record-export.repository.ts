import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, empty, raw, sql, type SqlExecutor, Where } from '#platform/db';
import { filteredBatches } from '#platform/paging';
import { CONTENT_FIELDS, type RecordEntity } from '../record.entity';
import { addRecordFilters, type RecordFilters } from '../record.repository';

const CONTENT = ['version', ...CONTENT_FIELDS].join(', ');

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

@Injectable()
export class RecordExportRepository {
  constructor(private readonly database: Database) {}

  /**
   * Yields the records as they stood at a revision, oldest first, see `filteredBatches`. Later changes do not show, because
   * every version of a record is stored.
   */
  batches(
    scope: Scope,
    { datasetId, revision, include_archived, ...filters }: ExportSelection,
    on: SqlExecutor = this.database,
  ): AsyncGenerator<ExportedRecord[], void, undefined> {
    const matching = addRecordFilters(new Where(scope.key), filters);
    const wasArchived = sql`archived_during @> ${revision}::bigint`;
    return filteredBatches<ExportedRecord>(on, {
      columns: `dataset_record_id, ${CONTENT}, archived_at`,
      examined: (after) =>
        sql`SELECT dataset_record_id AS id, CASE WHEN ${wasArchived} THEN archived_at END AS archived_at
          FROM records
          WHERE workspace_id = ${scope.workspaceId} AND dataset_id = ${datasetId} AND created_revision <= ${revision}
            ${include_archived === true ? empty : sql`AND NOT ${wasArchived}`} AND dataset_record_id > ${after}
          ORDER BY dataset_record_id`,
      matches: sql`SELECT version.*, archived_at, bytes AS size, dataset_record_id AS id
          FROM examined CROSS JOIN LATERAL (
            SELECT workspace_id, bytes, dataset_record_id, ${raw(CONTENT)} FROM record_versions
            WHERE dataset_id = ${datasetId} AND dataset_record_id = examined.id AND revision <= ${revision}
            ORDER BY revision DESC LIMIT 1
          ) version
          WHERE ${matching.sql}`,
    });
  }
}
