import { JsonInputError, parseJson } from '#platform/json';
import { problem } from '#platform/problem';
import { CaseMaker } from '../../dataset-versions/csv/csv.case';
import { type CsvLayout, shown } from '../../dataset-versions/csv/csv.columns';
import { CsvFault } from '../../dataset-versions/csv/csv.fault';
import { CSV_COLUMNS, textOfCell } from '../record-csv';
import { pointerOf } from './import-source';
import type { RowReader } from './csv.source';

const KNOWN = new Set<string>(CSV_COLUMNS);
const AS_JSON = new Set<string>(['input', 'expected', 'metadata', 'tags']);

const sizeOf = (cells: readonly string[]): number => cells.reduce((sum, cell) => sum + cell.length, 0);

/** Whether a file has the columns that an export has, in any order, and nobody said what they are. */
export const isExport = ({ columns, mapping }: CsvLayout): boolean =>
  columns.length === KNOWN.size &&
  columns.every((column) => KNOWN.has(column)) &&
  [mapping.expected, mapping.metadata, mapping.tags].every((named) => named.length === 0);

/**
 * Rows as an export writes them. Columns may be left out, but for `input`, and stand in any order. Errors: `CsvFault`
 * for columns that an export does not have.
 */
export function exportedRows(columns: string[]): RowReader {
  const unknown = columns.find((column) => !KNOWN.has(column));
  if (unknown !== undefined) {
    throw new CsvFault(1, `names the column ${shown(unknown)}; there may be ${CSV_COLUMNS.join(', ')}`);
  }
  if (!columns.includes('input')) throw new CsvFault(1, 'does not name the column input');
  return (cells, line) => {
    const value: Record<string, unknown> = {};
    for (const [place, column] of columns.entries()) {
      const cell = cells[place]!;
      if (cell === '') continue;
      try {
        value[column] = AS_JSON.has(column) ? parseJson(Buffer.from(cell)) : textOfCell(cell);
      } catch (error) {
        if (!(error instanceof JsonInputError)) throw error;
        const detail = `must be JSON text: ${error.detail.replace(/^The body/, 'the field')}`;
        const fault = problem.invalidFields([
          { pointer: pointerOf(line, `/${column}${error.pointer}`), detail },
        ]);
        return { line, value: null, fault, size: 0 };
      }
    }
    return { line, value, fault: null, size: sizeOf(cells) };
  };
}

/** Rows as the cases of a version, whose id is the record's own key. */
export function caseRows(layout: CsvLayout): RowReader {
  const maker = new CaseMaker(layout);
  return (cells, line, row) => {
    const { id, input, expected, metadata, tags } = maker.make(row, cells);
    const value = { input, expected, metadata, tags, source_kind: 'external', external_id: id };
    return { line, value, fault: null, size: sizeOf(cells) };
  };
}
