import { toJsonText } from '#platform/json';
import { CONTENT_FIELDS } from '../records/record.entity';
import { cellOfText, csvFormat, JSON_LINES } from './export-formats';
import type { ExportedRecord } from './record-export.repository';

/**
 * The columns of records as CSV (RFC 4180). `input`, `expected`, `metadata` and `tags` are JSON texts. The others are
 * plain texts, which are never empty: an empty cell is null.
 */
export const CSV_COLUMNS = CONTENT_FIELDS;

const CSV = csvFormat<ExportedRecord>(CSV_COLUMNS, (record) => {
  const texts = [record.label, record.category, record.source_kind, record.source_ref, record.external_id];
  return [
    record.input?.text ?? 'null',
    record.expected?.text ?? 'null',
    record.metadata.text,
    toJsonText(record.tags),
    ...texts.map((text) => cellOfText(text ?? '')),
  ];
});

export const RECORD_FORMATS = { jsonl: JSON_LINES, csv: CSV } as const;
