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

/** Bytes of a large cell that are quoted at once. */
const PIECE_BYTES = 64 * 1024;
const QUOTE = 34;

/** Yields a large cell with quotes, piece by piece: `replaceAll` takes seconds for millions of quotes. */
function* quotedPieces(cell: string): Generator<Buffer> {
  const bytes = Buffer.from(cell);
  yield Buffer.from('"');
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield doubled(bytes.subarray(at, at + PIECE_BYTES));
  yield Buffer.from('"');
}

/** Returns text with its quotes doubled. */
function doubled(bytes: Buffer): Buffer {
  const result = Buffer.allocUnsafe(2 * bytes.length);
  let length = 0;
  for (const byte of bytes) {
    result[length++] = byte;
    if (byte === QUOTE) result[length++] = QUOTE;
  }
  return result.subarray(0, length);
}

function* piecesOf(cells: readonly string[]): Generator<string | Buffer> {
  for (const [index, cell] of cells.entries()) {
    if (index > 0) yield ',';
    if (cell.length > PIECE_BYTES) yield* quotedPieces(cell);
    else yield quoted(cell);
  }
  yield '\r\n';
}

/** A format of exports. */
export interface RecordFormat {
  /** The text before the first record. */
  head: string;
  /** Returns the line of a record, in pieces. */
  lineOf: (record: ExportedRecord) => Iterable<string | Buffer>;
}

/** One line of JSON (RFC 8259) per record. Free-form values are stored without line breaks. */
const JSON_LINES: RecordFormat = {
  head: '',
  lineOf: (record) => [`${toJsonText(record)}\n`],
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
    const cells = [...json, ...texts.map((text) => cellOfText(text ?? ''))];
    const isLarge = cells.some((cell) => cell.length > PIECE_BYTES);
    return isLarge ? piecesOf(cells) : [`${cells.map(quoted).join(',')}\r\n`];
  },
};

export const RECORD_FORMATS = { jsonl: JSON_LINES, csv: CSV } as const;
