import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { SpooledFile } from '#platform/http';
import { toJsonText } from '#platform/json';
import { problem } from '#platform/problem';
import { pick } from '../../../resources';
import type { DatasetEntity } from '../datasets/dataset.entity';
import { CONTENT_FIELDS } from '../records/record.entity';
import { IMPORT_LINES_MAX } from '../records/import/import-source';
import { type ExportedRecord, RecordExportRepository } from '../records/export/record-export.repository';
import { type ExportFormat, exportParts } from '../records/transfer-formats';

/** Largest file of records, in bytes. */
export const RECORDS_MAX_BYTES = 1024 * 1024 * 1024;

/**
 * Returns a record as a line of a package, without its line break. The line is that of an export without id, version and
 * times. Equal content always gives the same line, because free-form members are written as they are stored.
 */
export const lineOf = (record: ExportedRecord): string => toJsonText(pick(record, CONTENT_FIELDS));

const PACKED_LINES: ExportFormat<ExportedRecord> = {
  head: '',
  lineOf: (record) => [`${lineOf(record)}\n`],
};

/** Writes the records of a dataset into a file. */
@Injectable()
export class RecordPacker {
  constructor(private readonly records: RecordExportRepository) {}

  /**
   * Writes the records as of the revision of `dataset`, oldest first, regardless of later changes. The caller closes the file.
   * Errors: 422 `validation_failed` for more than 100,000 records or 1 GiB; 503 `storage_unavailable`.
   */
  async pack(
    on: SqlExecutor,
    scope: Scope,
    { dataset_id: datasetId, revision, record_count }: DatasetEntity,
  ): Promise<SpooledFile> {
    if (record_count > IMPORT_LINES_MAX) {
      throw problem.validationFailed(
        `The dataset has ${record_count} records. At most ${IMPORT_LINES_MAX} can be published. Archive some, or publish a CSV version.`,
      );
    }
    const file = await SpooledFile.create();
    try {
      const batches = this.records.batches(scope, { datasetId, revision }, on);
      for await (const lines of exportParts(batches, PACKED_LINES)) {
        await file.append(lines);
        if (file.size > RECORDS_MAX_BYTES) {
          throw problem.validationFailed('The records of the dataset exceed 1 GiB as JSON. Archive some.');
        }
      }
      file.finish();
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }
}
