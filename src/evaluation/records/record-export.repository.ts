import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, Where } from '#platform/db';
import type { RecordEntity } from './record.entity';
import { addRecordFilters, type RecordFilters } from './record.repository';

/** Records that are looked at by one statement, and the bytes after which it leaves the rest to the next. */
const BATCH_RECORDS = 500;
const BATCH_BYTES = 1024 * 1024;

const CONTENT =
  'version, input, expected, metadata, tags, label, category, source_kind, source_ref, external_id';

/** What is told of a record that is exported. */
export type ExportedRecord = Pick<
  RecordEntity,
  | 'dataset_record_id'
  | 'version'
  | 'input'
  | 'expected'
  | 'metadata'
  | 'tags'
  | 'label'
  | 'category'
  | 'source_kind'
  | 'source_ref'
  | 'external_id'
  | 'archived_at'
>;

/** Which records of a dataset, and as of which of its revisions. */
export interface ExportSelection extends RecordFilters {
  datasetId: string;
  revision: number;
  include_archived?: boolean;
}

interface BatchRow extends ExportedRecord {
  /** The last record that was looked at, and how many were. */
  examined_last: string | null;
  examined_count: number;
  goes_on: boolean | null;
}

@Injectable()
export class RecordExportRepository {
  constructor(private readonly database: Database) {}

  /**
   * Reads the records as they stood at a revision, in the order in which they were made, batch by batch. No connection
   * is held between two batches, and what is changed meanwhile does not show: every state of a record is kept. A batch
   * is empty where none of those that were looked at is selected; between any two, who reads may stop.
   */
  async *batches(
    scope: Scope,
    selection: ExportSelection,
  ): AsyncGenerator<ExportedRecord[], void, undefined> {
    for (let after: string | null = ''; after !== null;) {
      const { records, next }: Batch = await this.batch(scope, selection, after);
      yield records;
      after = next;
    }
  }

  private async batch(scope: Scope, selection: ExportSelection, after: string): Promise<Batch> {
    const matching = new Where(scope.key);
    addRecordFilters(matching, selection);
    const dataset = matching.parameter(selection.datasetId);
    const revision = matching.parameter(selection.revision);
    const live =
      selection.include_archived === true
        ? ''
        : `AND (archived_revision IS NULL OR archived_revision > ${revision})`;
    const rows = await this.database.query<BatchRow>(
      `WITH examined AS MATERIALIZED (
         SELECT dataset_record_id AS id, CASE WHEN archived_revision <= ${revision} THEN archived_at END AS archived_at
         FROM records
         WHERE workspace_id = $1 AND dataset_id = ${dataset} AND created_revision <= ${revision} ${live}
           AND dataset_record_id > ${matching.parameter(after)}
         ORDER BY dataset_record_id LIMIT ${BATCH_RECORDS}
       ), found AS (
         SELECT version.*, archived_at, sum(bytes) OVER page - bytes AS bytes_before, lead(true, 1, false) OVER page AS goes_on
         FROM examined CROSS JOIN LATERAL (
           SELECT workspace_id, bytes, dataset_record_id, ${CONTENT} FROM record_versions
           WHERE dataset_id = ${dataset} AND dataset_record_id = examined.id AND revision <= ${revision}
           ORDER BY revision DESC LIMIT 1
         ) version
         WHERE ${matching.toString()}
         WINDOW page AS (ORDER BY dataset_record_id ROWS UNBOUNDED PRECEDING)
       )
       SELECT dataset_record_id, ${CONTENT}, archived_at, goes_on, examined_last, examined_count
       FROM (SELECT max(id) AS examined_last, count(*) AS examined_count FROM examined) looked_at
       LEFT JOIN found ON bytes_before < ${BATCH_BYTES}
       ORDER BY dataset_record_id`,
      matching.values,
    );
    return batchOf(rows);
  }
}

interface Batch {
  records: ExportedRecord[];
  /** After which record the next batch begins; null after the last. */
  next: string | null;
}

function batchOf(rows: BatchRow[]): Batch {
  const { examined_last, examined_count } = rows[0]!;
  const last = rows.at(-1)!;
  const records = rows
    .filter(({ dataset_record_id }) => dataset_record_id !== null)
    .map(({ examined_last: _last, examined_count: _count, goes_on: _goesOn, ...record }) => record);
  if (last.goes_on === true) return { records, next: last.dataset_record_id };
  return { records, next: examined_count < BATCH_RECORDS ? null : examined_last };
}
