import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { etagOf, type Reply, streamed } from '#platform/http';
import { problem } from '#platform/problem';
import { DatasetService } from '../datasets/dataset.service';
import { EXPORT_MEDIA, exportParts, JSON_LINES } from './export-formats';
import { RecordExportRepository } from './record-export.repository';
import { RECORD_CSV } from './record-formats';
import type { RecordExportQueryDto } from './record-transfer.dto';

/** Exports the records of datasets. */
@Injectable()
export class RecordExportService {
  constructor(
    private readonly datasets: DatasetService,
    private readonly records: RecordExportRepository,
  ) {}

  /**
   * Streams the records of a dataset as they are now. Changes during the download do not show. Errors: 400 for `cells` with
   * another format than CSV, 404.
   */
  async export(
    scope: Scope,
    datasetId: string,
    { format = 'jsonl', cells, ...query }: RecordExportQueryDto,
  ): Promise<Reply> {
    if (cells !== undefined && format !== 'csv') {
      throw problem.invalidQuery('cells', 'applies only to format=csv');
    }
    const { name, revision } = await this.datasets.find(scope, datasetId);
    const batches = this.records.batches(scope, { ...query, datasetId, revision });
    return streamed(exportParts(batches, format === 'csv' ? RECORD_CSV[cells ?? 'auto'] : JSON_LINES), {
      type: `${EXPORT_MEDIA[format]}; charset=utf-8`,
      filename: `${name}.${format}`,
      etag: etagOf(revision),
    });
  }
}
