import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { etagOf, type Reply, streamed } from '#platform/http';
import { type RawJson, toJsonText } from '#platform/json';
import { problem } from '#platform/problem';
import { DatasetService } from '../../datasets/dataset.service';
import type { RecordExportQueryDto } from '../record-transfer.dto';
import { CONTENT_FIELDS } from '../record.entity';
import { cellOfText, csvFormat, EXPORT_MEDIA, exportParts, JSON_LINES } from '../transfer-formats';
import { type ExportedRecord, RecordExportRepository } from './record-export.repository';

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

/**
 * Records as CSV (RFC 4180). `metadata` and `tags` are JSON texts. The columns after `tags` are plain texts, which are never
 * empty: an empty cell is null.
 */
const csvOf = (cellOf: (value: RawJson | null) => string) =>
  csvFormat<ExportedRecord>(CONTENT_FIELDS, (record) => {
    const texts = [record.label, record.category, record.source_kind, record.source_ref, record.external_id];
    return [
      cellOf(record.input),
      cellOf(record.expected),
      record.metadata.text,
      toJsonText(record.tags),
      ...texts.map((text) => cellOfText(text ?? '')),
    ];
  });

const jsonCell = (value: RawJson | null): string => value?.text ?? 'null';

/**
 * Returns the text of a string, an empty cell for null, and JSON for any other value. A string with a NUL character is JSON
 * too, because CSV cannot have NUL characters.
 */
function plainCell(value: RawJson | null): string {
  const text = jsonCell(value);
  if (text === 'null') return '';
  return text.startsWith('"') && !text.includes('\\u0000') ? cellOfText(JSON.parse(text) as string) : text;
}

/** The CSV formats, by the form of the cells of `input` and `expected`. */
export const RECORD_CSV = { auto: csvOf(plainCell), json: csvOf(jsonCell) } as const;
