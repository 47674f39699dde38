import { type RawJson, toJsonText } from '#platform/json';
import { CONTENT_FIELDS } from '../records/record.entity';
import { cellOfText, csvFormat } from './export-formats';
import type { ExportedRecord } from './record-export.repository';

/**
 * The columns of records as CSV (RFC 4180). `metadata` and `tags` are JSON texts. The columns after `tags` are plain texts,
 * which are never empty: an empty cell is null.
 */
export const CSV_COLUMNS = CONTENT_FIELDS;

const csvOf = (cellOf: (value: RawJson | null) => string) =>
  csvFormat<ExportedRecord>(CSV_COLUMNS, (record) => {
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

/** Records as CSV, by the form of the cells of `input` and `expected`. */
export const RECORD_CSV = { auto: csvOf(plainCell), json: csvOf(jsonCell) } as const;
