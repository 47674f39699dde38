import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { StreamedBody } from '#platform/http';
import { DatasetService } from '../datasets/dataset.service';
import { type ExportSelection, RecordExportRepository } from './record-export.repository';
import { RECORD_FORMATS, type RecordFormat } from './record-lines';
import type { ExportFormat, RecordExportQueryDto } from './record-transfer.dto';

/** Records on their way out. */
export interface RecordExport {
  body: StreamedBody;
  format: ExportFormat;
  fileName: string;
  /** The dataset's revision that the records are of. */
  revision: number;
}

@Injectable()
export class RecordExportService {
  constructor(
    private readonly datasets: DatasetService,
    private readonly records: RecordExportRepository,
    private readonly environment: Environment,
  ) {}

  /** The records of a dataset as they stand now, whatever is changed while they are read. Error: 404 without it. */
  async export(
    scope: Scope,
    datasetId: string,
    { format = 'jsonl', ...query }: RecordExportQueryDto,
  ): Promise<RecordExport> {
    const { view, version: revision } = await this.datasets.get(scope, datasetId);
    const parts = this.parts(scope, { ...query, datasetId, revision }, RECORD_FORMATS[format]);
    const body = await StreamedBody.begin(parts, this.environment.REQUEST_TIMEOUT_MS);
    return { body, format, fileName: `${view.name}.${format}`, revision };
  }

  private async *parts(
    scope: Scope,
    selection: ExportSelection,
    { head, lineOf }: RecordFormat,
  ): AsyncGenerator<Buffer, void, undefined> {
    let text = head;
    for await (const records of this.records.batches(scope, selection)) {
      for (const record of records) text += lineOf(record);
      yield Buffer.from(text);
      text = '';
    }
    if (text !== '') yield Buffer.from(text);
  }
}
