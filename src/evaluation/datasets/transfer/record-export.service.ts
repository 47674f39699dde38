import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Pace } from '#platform/concurrency';
import { etagOf, type Reply, streamed } from '#platform/http';
import { DatasetService } from '../datasets/dataset.service';
import { type ExportSelection, RecordExportRepository } from './record-export.repository';
import { RECORD_FORMATS, type RecordFormat } from './record-formats';
import { EXPORT_MEDIA, type RecordExportQueryDto } from './record-transfer.dto';

@Injectable()
export class RecordExportService {
  constructor(
    private readonly datasets: DatasetService,
    private readonly records: RecordExportRepository,
  ) {}

  /** Returns the records of a dataset as they stand now. Changes during the download do not show. Errors: 404. */
  async export(
    scope: Scope,
    datasetId: string,
    { format = 'jsonl', ...query }: RecordExportQueryDto,
  ): Promise<Reply> {
    const { name, revision } = await this.datasets.find(scope, datasetId);
    const parts = this.parts(scope, { ...query, datasetId, revision }, RECORD_FORMATS[format]);
    return streamed(parts, {
      type: `${EXPORT_MEDIA[format]}; charset=utf-8`,
      filename: `${name}.${format}`,
      etag: etagOf(revision),
    });
  }

  private async *parts(
    scope: Scope,
    selection: ExportSelection,
    { head, lineOf }: RecordFormat,
  ): AsyncGenerator<Buffer, void, undefined> {
    const pace = new Pace();
    let text = head;
    for await (const records of this.records.batches(scope, selection)) {
      for (const record of records) {
        for (const piece of lineOf(record)) {
          if (typeof piece === 'string') {
            text += piece;
            continue;
          }
          yield Buffer.from(text);
          text = '';
          yield piece;
          if (pace.isDue()) await pace.rest();
        }
      }
      // Yields empty parts too: the response begins after the first batch, and ends when the client has gone.
      yield Buffer.from(text);
      text = '';
    }
  }
}
