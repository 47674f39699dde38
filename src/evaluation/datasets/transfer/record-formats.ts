import { toJsonText } from '#platform/json';
import { CONTENT_FIELDS } from '../records/record.entity';
import type { ExportedRecord } from './record-export.repository';

/**
 * The columns of records as CSV (RFC 4180). `input`, `expected`, `metadata` and `tags` are JSON texts. The others are
 * plain texts, which are never empty: an empty cell is null.
 */
export const CSV_COLUMNS = CONTENT_FIELDS;

/** Cells that a spreadsheet would run as a formula (OWASP, CSV injection), with any number of leading `'`. */
const FORMULA = /^'*[=+\-@\t\r\n]/;

/**
 * Returns the cell of a plain text. A formula gets a leading `'`. So does a formula that already has some, so that
 * `textOfCell` is the exact inverse. Other texts, such as `'tis`, stay as they are.
 */
export const cellOfText = (text: string): string => (FORMULA.test(text) ? `'${text}` : text);

/** Returns the text of a cell that `cellOfText` made. */
export const textOfCell = (cell: string): string =>
  cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;

/** Returns a cell with quotes where it needs them (RFC 4180, section 2). */
export const quoted = (cell: string): string =>
  /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

/** A format of exports. */
export interface RecordFormat {
  /** The text before the first record. */
  head: string;
  lineOf: (record: ExportedRecord) => string;
}

/** One line of JSON (RFC 8259) per record. Free-form values are stored without line breaks. */
const JSON_LINES: RecordFormat = {
  head: '',
  lineOf: (record) => `${toJsonText(record)}\n`,
};

const CSV: RecordFormat = {
  head: `${CSV_COLUMNS.join(',')}\r\n`,
  lineOf: (record) => {
    const json = [
      record.input?.text ?? 'null',
      record.expected?.text ?? 'null',
      record.metadata.text,
      toJsonText(record.tags),
    ];
    const texts = [record.label, record.category, record.source_kind, record.source_ref, record.external_id];
    return `${[...json, ...texts.map((text) => cellOfText(text ?? ''))].map(quoted).join(',')}\r\n`;
  },
};

export const RECORD_FORMATS = { jsonl: JSON_LINES, csv: CSV } as const;
