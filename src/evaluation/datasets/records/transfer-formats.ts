import { TimeSlice } from '#platform/concurrency';
import { toJsonText } from '#platform/json';

export const EXPORT_FORMATS = ['jsonl', 'csv'] as const;
export type ExportFormatName = (typeof EXPORT_FORMATS)[number];

/** Media types of exports, one for each format. */
export const EXPORT_MEDIA = { jsonl: 'application/jsonl', csv: 'text/csv' } as const;

/**
 * How cells become values of records. `auto`: a cell that begins with `{` or `[` and is valid JSON is read as JSON, and any
 * other cell as text. `text`: every cell is read as text. `json`: the cells of `input`, `expected`, `metadata` and `tags` are
 * read as JSON, which an export with `cells=json` writes.
 */
export const CELLS = ['auto', 'text', 'json'] as const;
export type Cells = (typeof CELLS)[number];

/** A format of exports. */
export interface ExportFormat<Row> {
  /** The text before the first row. */
  head: string;
  /** Returns the line of a row, in pieces. */
  lineOf: (row: Row) => Iterable<string | Buffer>;
}

/** One line of JSON (RFC 8259) per row. Free-form values are stored without line breaks. */
export const JSON_LINES: ExportFormat<unknown> = {
  head: '',
  lineOf: (row) => [`${toJsonText(row)}\n`],
};

/** CSV (RFC 4180) with a header row. */
export const csvFormat = <Row>(
  columns: readonly string[],
  cellsOf: (row: Row) => readonly string[],
): ExportFormat<Row> => ({
  head: `${columns.join(',')}\r\n`,
  lineOf: (row) => {
    const cells = cellsOf(row);
    const isLarge = cells.some((cell) => cell.length > PIECE_BYTES);
    return isLarge ? piecesOf(cells) : [`${cells.map(quoted).join(',')}\r\n`];
  },
});

/** Writes batches of rows in a format, piece by piece. */
export async function* exportParts<Row>(
  batches: AsyncIterable<readonly Row[]>,
  { head, lineOf }: ExportFormat<Row>,
): AsyncGenerator<Buffer, void, undefined> {
  const slice = new TimeSlice();
  let text = head;
  for await (const rows of batches) {
    for (const row of rows) {
      for (const piece of lineOf(row)) {
        if (typeof piece === 'string') {
          text += piece;
          continue;
        }
        yield Buffer.from(text);
        text = '';
        yield piece;
        if (slice.isOver()) await slice.yield();
      }
    }
    // Yields empty parts too, so that the response starts after the first batch and ends when the client disconnects.
    yield Buffer.from(text);
    text = '';
  }
}

/** Cells that a spreadsheet would run as a formula (OWASP, CSV injection), with any number of leading `'`. */
const FORMULA = /^'*[=+\-@\t\r\n]/;

/**
 * Returns the cell of a plain text. A formula gets a leading `'`, even if it already has some, so that `textOfCell` is the
 * exact inverse. Other texts, such as `'tis`, stay as they are.
 */
export const cellOfText = (text: string): string => (FORMULA.test(text) ? `'${text}` : text);

/** Returns the text of a cell that `cellOfText` made. */
export const textOfCell = (cell: string): string =>
  cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;

/** Returns a cell, in quotes if it needs them (RFC 4180, section 2). */
export const quoted = (cell: string): string =>
  /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

/** Chunk size for quoting large cells, in bytes. */
const PIECE_BYTES = 64 * 1024;
const QUOTE = 34;

/** Yields a large cell with quotes, piece by piece: `replaceAll` takes seconds for millions of quotes. */
function* quotedPieces(cell: string): Generator<Buffer> {
  const bytes = Buffer.from(cell);
  yield Buffer.from('"');
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    yield escapeQuotes(bytes.subarray(at, at + PIECE_BYTES));
  yield Buffer.from('"');
}

/** Returns text with its quotes doubled. */
function escapeQuotes(bytes: Buffer): Buffer {
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
