import { RawJson } from '#platform/json';
import { tagsOf } from './case.tags';
import type { CsvLayout } from './csv.columns';

/** A row, as a case. */
export interface CsvCase {
  /** From 1, in the order of the file. */
  row: number;
  id: string;
  /** Object of column and cell; cells are texts. */
  input: RawJson;
  /** Object of column and cell; null where no column is mapped to it. */
  expected: RawJson | null;
  metadata: RawJson;
  tags: string[];
}

/** Makes cases of the rows of one file. */
export class CaseMaker {
  private readonly idAt: number;
  private readonly input: Member[];
  private readonly expected: Member[];
  private readonly metadata: Member[];
  private readonly tagsAt: number[];

  constructor({ columns, caseIdColumn, mapping }: CsvLayout) {
    const places = new Map(columns.map((column, index) => [column, index]));
    const member = (column: string): Member => ({
      at: places.get(column)!,
      name: `${JSON.stringify(column)}:`,
    });
    this.idAt = caseIdColumn === null ? -1 : places.get(caseIdColumn)!;
    this.input = mapping.input.map(member);
    this.expected = mapping.expected.map(member);
    this.metadata = mapping.metadata.map(member);
    this.tagsAt = mapping.tags.map((column) => places.get(column)!);
  }

  /** @param cells the texts of all fields of the row */
  make(row: number, cells: readonly (string | undefined)[]): CsvCase {
    return {
      row,
      id: this.idAt < 0 ? String(row) : cells[this.idAt]!,
      input: objectOf(this.input, cells),
      expected: this.expected.length > 0 ? objectOf(this.expected, cells) : null,
      metadata: objectOf(this.metadata, cells),
      tags: this.tagsAt.length > 0 ? tagsOf(this.tagsAt.map((at) => cells[at]!)) : [],
    };
  }
}

/** About how many bytes a case is in JSON: all but its braces and its own names. */
export const caseBytes = ({ id, input, expected, metadata, tags }: CsvCase): number =>
  [id, input.text, expected?.text ?? '', metadata.text, ...tags].reduce(
    (sum, text) => sum + Buffer.byteLength(text),
    0,
  );

interface Member {
  at: number;
  /** As JSON, with its colon. */
  name: string;
}

/** Written as text: an object of JavaScript would put columns called 2 and 1 into another order. */
const objectOf = (members: readonly Member[], cells: readonly (string | undefined)[]): RawJson =>
  new RawJson(`{${members.map(({ at, name }) => name + JSON.stringify(cells[at])).join(',')}}`);
