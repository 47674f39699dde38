import { toJsonText } from '#platform/json';
import { CONTENT_FIELDS } from '../records/record.entity';
import type { ExportedRecord } from './record-export.repository';

/**
 * The columns of records as CSV (RFC 4180). `input`, `expected`, `metadata` and `tags` are JSON texts. The others are
 * plain texts, which are never empty: an empty cell is null.
 */
export const CSV_COLUMNS = CONTENT_FIELDS;

/** A spreadsheet would run a cell that begins so as a formula (OWASP, CSV injection). */
const FORMULA = /^'*[=+\-@\t\r\n]/;

/**
 * The cell of a plain text: what a spreadsheet would run is shown with a leading `'`. So is what consists of `'` and
 * then such a beginning, and nothing else, so that taking the `'` away again is exact, and `'tis` stays as it is.
 */
export const cellOfText = (text: string): string => (FORMULA.test(text) ? `'${text}` : text);

/** The text of a cell that `cellOfText` made. */
export const textOfCell = (cell: string): string =>
  cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;

/** A cell as it stands in a line (RFC 4180, section 2). */
export const quoted = (cell: string): string =>
  /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

/** How records are written, one after another. */
export interface RecordFormat {
  /** What comes before the first. */
  head: string;
  lineOf: (record: ExportedRecord) => string;
}

/** A line of JSON (RFC 8259) each. The texts of free-form values are taken as they are kept, which is without breaks. */
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
