/**
 * Records as CSV (RFC 4180). `input`, `expected`, `metadata` and `tags` are JSON texts. The others are plain texts, of
 * which none is empty: an empty cell is null.
 */
export const CSV_COLUMNS = [
  'input', 'expected', 'metadata', 'tags', 'label', 'category', 'source_kind', 'source_ref', 'external_id',
] as const; // prettier-ignore

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
