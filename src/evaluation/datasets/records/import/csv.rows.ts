import { JsonInputError, parseJson, toRawJson } from '#platform/json';
import { problem } from '#platform/problem';
import { CaseMaker, CellFault, type CsvCase, PARSED_CELL_BYTES } from '../../versions/csv/csv.case';
import { type CsvLayout, headerOf, layoutOf, quoteShort } from '../../versions/csv/csv.columns';
import { CsvFault } from '../../versions/csv/csv.scanner';
import { CONTENT_FIELDS } from '../record.entity';
import { isLarger, type RowReader } from './csv.source';
import { type Cells, textOfCell } from '../transfer-formats';
import { type ImportLine, pointerOf } from './import-source';

type PlainCells = Exclude<Cells, 'json'>;

/** Reads rows as cases. */
class CaseRows {
  private readonly maker: CaseMaker;
  /** Indexes of the cells that may be JSON values. */
  private readonly valuesAt: readonly number[];
  /** Indexes of the cells of tags and JSON metadata. */
  private readonly parsedAt: readonly number[];

  /** @param textOf returns the text of a cell */
  constructor(
    layout: CsvLayout,
    cells: PlainCells,
    private readonly textOf: (cell: string) => string,
  ) {
    const { columns, mapping, valueColumns } = layout;
    this.maker = new CaseMaker(layout);
    const objects = mapping.metadata.filter((column) => valueColumns.includes(column));
    const values = [...mapping.input, ...mapping.expected, ...mapping.metadata].filter(
      (column) => !objects.includes(column),
    );
    const placesOf = (names: readonly string[]): number[] => names.map((name) => columns.indexOf(name));
    this.valuesAt = cells === 'auto' ? placesOf(values) : [];
    this.parsedAt = placesOf([...mapping.tags, ...objects]);
  }

  /** Errors: `CellFault`. */
  read(cells: readonly string[], row: number): CsvCase {
    if (this.parsedAt.some((at) => isLarger(cells[at]!, PARSED_CELL_BYTES))) {
      throw new CellFault(`has tags or metadata of more than ${PARSED_CELL_BYTES / 1024} KiB in one field`);
    }
    const texts = new Map<number, string>();
    for (const at of this.valuesAt) {
      if (!/^[{[]/.test(cells[at]!)) continue;
      const text = jsonOf(cells[at]!);
      if (text !== null) texts.set(at, text);
    }
    return this.maker.make(row, cells, (at) => texts.get(at) ?? JSON.stringify(this.textOf(cells[at]!)));
  }
}

/** Returns the JSON text of a cell, or null if it is not JSON. */
function jsonOf(cell: string): string | null {
  try {
    return toRawJson(parseJson(Buffer.from(cell))).text;
  } catch (error) {
    if (error instanceof JsonInputError) return null;
    throw error;
  }
}

/** Returns a reader of rows as cases of a version. The case id becomes the record's `external_id`. */
export function caseRows(layout: CsvLayout, cells: PlainCells): RowReader {
  const rows = new CaseRows(layout, cells, (cell) => cell);
  return (texts, line, row) =>
    lineOf(texts, line, () => {
      const { case_id, input, expected, metadata, tags } = rows.read(texts, row);
      return { input, expected, metadata, tags, source_kind: 'external', external_id: case_id };
    });
}

/** Members of a record, besides the parts of a case and `external_id`, that have their own columns. */
const MEMBERS = ['label', 'category', 'source_kind', 'source_ref'] as const;

/**
 * Returns a reader of rows whose columns are recognized by their names, as in a CSV version without a mapping or in an
 * export. The optional case id becomes the `external_id` unless there is a column of this name. An empty cell of `expected`
 * is null, as in an export.
 */
export function namedRows(columns: string[], cells: PlainCells): RowReader {
  const members = MEMBERS.map((name) => ({ name, at: headerOf(columns, [name]) })).filter(
    ({ at }) => at >= 0,
  );
  const others = columns.filter((_, place) => members.every(({ at }) => at !== place));
  const caseIdColumn = columns[headerOf(columns, ['external_id'])] ?? null;
  const layout: CsvLayout = { ...layoutOf(others, { caseIdColumn, mapping: null }), columns };
  const expectedAt = columns.indexOf(layout.mapping.expected[0] ?? '');
  const rows = new CaseRows(layout, cells, textOfCell);
  return (texts, line, row) =>
    lineOf(texts, line, () => {
      const { case_id, input, expected, metadata, tags } = rows.read(texts, row);
      return {
        input,
        expected: texts[expectedAt] === '' ? null : expected,
        metadata,
        tags,
        ...Object.fromEntries(members.map(({ name, at }) => [name, textOfCell(texts[at]!) || null])),
        external_id: layout.caseIdColumn === null ? null : textOfCell(case_id) || null,
      };
    });
}

const KNOWN = new Set<string>(CONTENT_FIELDS);
const AS_JSON: ReadonlySet<string> = new Set(['input', 'expected', 'metadata', 'tags']);

/**
 * Returns a reader of rows as an export writes them. Columns may be in any order, and only `input` is required. Errors:
 * `CsvFault` for unknown columns, and without `input`.
 */
export function exportedRows(columns: string[]): RowReader {
  const unknown = columns.find((column) => !KNOWN.has(column));
  if (unknown !== undefined) {
    throw new CsvFault(
      1,
      `names the unknown column ${quoteShort(unknown)}. With cells=json, the known columns are ${CONTENT_FIELDS.join(', ')}`,
    );
  }
  if (!columns.includes('input')) throw new CsvFault(1, 'does not name the column input, which is required');
  const read = (cells: readonly string[]): object => {
    const value: Record<string, unknown> = {};
    for (const [place, column] of columns.entries()) {
      const cell = cells[place]!;
      if (cell === '') continue;
      try {
        value[column] = AS_JSON.has(column) ? parseJson(Buffer.from(cell)) : textOfCell(cell);
      } catch (error) {
        if (!(error instanceof JsonInputError)) throw error;
        const detail = `must be JSON text: ${error.detail.replace(/^The body/, 'the field')}`;
        throw new CellFault(detail, `/${column}${error.pointer}`);
      }
    }
    return value;
  };
  return (cells, line) => lineOf(cells, line, () => read(cells));
}

function lineOf(cells: readonly string[], line: number, read: () => object): ImportLine {
  try {
    return { line, value: read(), fault: null, size: sizeOf(cells) };
  } catch (error) {
    if (!(error instanceof CellFault)) throw error;
    const fault = problem.invalidField(pointerOf(line, error.pointer), error.detail);
    return { line, value: null, fault, size: 0 };
  }
}

const sizeOf = (cells: readonly string[]): number => cells.reduce((sum, cell) => sum + cell.length, 0);
