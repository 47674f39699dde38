import type { SpooledFile } from '#platform/http';
import { caseBytes, CaseMaker, type CsvCase } from './csv.case';
import {
  type Becomes,
  becomesOf,
  type CsvLayout,
  type CsvOptions,
  EXPECTED_HEADERS,
  isExpectedHeader,
  namesOf,
  plainName,
  quoteShort,
  splitCamelCase,
} from './csv.columns';
import { CHUNK_BYTES, CsvInput, type CsvRows, piecesOf } from './csv.reader';
import type { CsvRecord } from './csv.scanner';

/** Number of cases in a preview. */
export const PREVIEW_CASES = 5;
/** Bytes of a cell that decide whether it is empty, a number, or equal to another one. */
const COMPARED_BYTES = 1024;
/** Bytes of a cell that decide whether it is empty: a quoted cell has its quotes. */
const EMPTY_BYTES = 64;

export const CSV_WARNINGS = [
  'no_input',
  'no_expected',
  'expected_in_input',
  'second_expected',
  'prompt_in_metadata',
  'input_is_object',
  'unnamed_column_in_input',
  'row_numbers_as_case_ids',
  'empty_column',
  'empty_cells',
  'numbers_as_text',
  'single_value',
] as const;

/** Something about a file that probably differs from what its author expects. */
export interface CsvWarning {
  code: (typeof CSV_WARNINGS)[number];
  /** Null if the warning is about the whole file. */
  column: string | null;
  detail: string;
}

/** What a file would become. */
export interface CsvPreview {
  columns: { name: string; becomes: Becomes }[];
  cases: CsvCase[];
  warnings: CsvWarning[];
}

/**
 * Reads a file that `readCsv` has accepted, and describes what it would become.
 *
 * @param bytesMax size of the cases of the preview, in bytes, after which no further case is added
 */
export async function previewCsv(
  file: SpooledFile,
  options: CsvOptions,
  layout: CsvLayout,
  bytesMax: number,
): Promise<CsvPreview> {
  const rows = new PreviewRows(layout, bytesMax);
  const input = new CsvInput(rows, options, COMPARED_BYTES);
  for await (const chunk of file.chunks(CHUNK_BYTES)) {
    for await (const piece of piecesOf(chunk)) input.push(piece);
  }
  input.end();
  return {
    columns: layout.columns.map((name) => ({ name, becomes: becomesOf(layout, name) })),
    cases: rows.cases,
    warnings: [...warningsOf(layout, options), ...rows.warnings()],
  };
}

const NUMBER = /^\s*[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?\s*$/i;

/** What the cells of a column have in common. */
class ColumnCells {
  emptyCount = 0;
  private count = 0;
  private first = '';
  private isConstant = true;
  private isNumeric = true;

  constructor(
    readonly name: string,
    readonly becomes: Becomes,
  ) {}

  /** Bytes to keep of the next cell. */
  get keep(): number {
    const isCompared = this.isNumeric && this.becomes === 'expected';
    return isCompared || (this.isConstant && this.becomes === 'metadata') ? COMPARED_BYTES : EMPTY_BYTES;
  }

  take(cell: string): void {
    if (this.count++ === 0) this.first = cell;
    else if (this.isConstant) this.isConstant = cell === this.first && cell.length < COMPARED_BYTES / 4;
    if (cell.trim() === '') this.emptyCount++;
    else if (this.isNumeric) this.isNumeric = NUMBER.test(cell);
  }

  warning(): CsvWarning | null {
    const { name, becomes, count, emptyCount } = this;
    if (count === 0 || becomes === 'case_id') return null;
    if (emptyCount === count) {
      return { code: 'empty_column', column: name, detail: 'Every cell of this column is empty.' };
    }
    if (emptyCount > 0 && (becomes === 'input' || becomes === 'expected')) {
      const detail = `${emptyCount} of ${count} cells are empty. They become the text "", not null.`;
      return { code: 'empty_cells', column: name, detail };
    }
    if (becomes === 'expected' && this.isNumeric) {
      const text = quoteShort(this.first);
      const detail = `The cells are numbers, but become text: ${text}. A scorer must compare them as text, or convert them.`;
      return { code: 'numbers_as_text', column: name, detail };
    }
    if (becomes === 'metadata' && this.isConstant && count > 1) {
      const detail = `Every row has the same value, ${quoteShort(this.first)}.`;
      return { code: 'single_value', column: name, detail };
    }
    return null;
  }
}

class PreviewRows implements CsvRows {
  readonly cases: CsvCase[] = [];
  private bytes = 0;
  private readonly maker: CaseMaker;
  private readonly columns: ColumnCells[];
  private readonly keep: number[];

  constructor(
    layout: CsvLayout,
    private readonly bytesMax: number,
  ) {
    this.maker = new CaseMaker(layout);
    this.columns = layout.columns.map((name) => new ColumnCells(name, becomesOf(layout, name)));
    this.keep = this.columns.map(() => Infinity);
  }

  header(): { keep: number[] } {
    return { keep: this.keep };
  }

  row({ cells }: CsvRecord, row: number): void {
    if (row <= PREVIEW_CASES && this.bytes < this.bytesMax) {
      const one = this.maker.make(row, cells);
      this.cases.push(one);
      this.bytes += caseBytes(one);
    }
    for (const [at, column] of this.columns.entries()) {
      column.take(cells[at]!);
      // The scanner reads this list for each row.
      if (row >= PREVIEW_CASES) this.keep[at] = column.keep;
    }
  }

  warnings(): CsvWarning[] {
    return this.columns.flatMap((column) => column.warning() ?? []);
  }
}

/** Returns the words of a name in lower case, with spaces between them. */
const wordsOf = (column: string): string =>
  splitCamelCase(column)
    .replaceAll(/[^\p{L}\d]+/gu, ' ')
    .trim()
    .toLowerCase();

/** Names of columns that hold an expected value, although they are not recognized: by their first word, last word, or whole. */
const LIKE_EXPECTED = new RegExp(
  [
    '^(expect(ed|ation)s?|gold(en)?|correct|gt)([^a-z]|$)',
    '(^|[^a-z]|expected|correct|gold|golden|reference|ground)(truth|answer|reference|target|label|solution|response|output|completion|reply|assistant)s?$',
    'answer ?keys?$',
    '^(key|(expected|correct)?results?)$',
  ].join('|'),
);

/** Whether a name looks like a column of expected values: `Expected Result`, `goldSql`, `model_solution`, not `answer_choices`. */
const isLikeExpected = (column: string): boolean => LIKE_EXPECTED.test(wordsOf(column));

/** Whether a name looks like a part of a prompt: `instruction`, `System Prompt`, `retrieved_context`, not `question_id`. */
const isLikePrompt = (column: string): boolean =>
  /(^|[^a-z]|system)(instruction|question|prompt|query|context|message)s?$|^system$/.test(wordsOf(column));

/** Returns the warnings that follow from the names of the columns. */
function warningsOf(
  { columns, caseIdColumn, mapping, valueColumns }: CsvLayout,
  options: CsvOptions,
): CsvWarning[] {
  const warnings: CsvWarning[] = [];
  const warn = (code: CsvWarning['code'], column: string | null, detail: string): void =>
    void warnings.push({ code, column, detail });
  if (mapping.input.length === 0) {
    warn('no_input', null, 'No column becomes the input, so every input is an empty object.');
  }
  if (mapping.expected.length === 0) {
    const names = EXPECTED_HEADERS.join(', ');
    warn('no_expected', null, `No column becomes the expected value. Map one, or name it one of ${names}.`);
  }
  for (const column of mapping.input) {
    if (!valueColumns.includes(column) && plainName(column) === 'input') {
      const detail =
        'The input is an object with this column as a member. Map `"input": "…"` to use the cell alone.';
      warn('input_is_object', column, detail);
    } else if (isLikeExpected(column)) {
      const detail =
        'The name looks like an expected value, but the column is part of the input, so the answer reaches the prompt. Map it to `expected` or `metadata`.';
      warn('expected_in_input', column, detail);
    } else if (column === `column_${columns.indexOf(column) + 1}`) {
      const detail = 'The column has no name, as the index that pandas writes, and is part of the input.';
      warn('unnamed_column_in_input', column, detail);
    }
  }
  for (const column of mapping.metadata) {
    if (
      mapping.input.length > 0 &&
      isLikePrompt(column) &&
      !namesOf(options.mapping?.metadata).includes(column)
    ) {
      const detail =
        'The name looks like a part of the prompt, but the column becomes metadata, so the input does not contain it. Map it to `input`, in a list with the other columns of the prompt.';
      warn('prompt_in_metadata', column, detail);
    }
    if (!isExpectedHeader(column)) continue;
    const [expected] = mapping.expected;
    const detail =
      expected === undefined
        ? 'The name is one of an expected value, but the mapping makes the column metadata.'
        : `The expected value is the column ${quoteShort(expected)}. This column becomes metadata.`;
    warn('second_expected', column, detail);
  }
  if (caseIdColumn === null) {
    const [named] = columns.filter((column) => /(^|[^a-z])(id|uuid|key)$/i.test(column.trim()));
    const hint = named === undefined ? 'Add a column `id`' : `Set case_id_column to ${quoteShort(named)}`;
    const detail = `Row numbers become the case ids, so a row that is inserted or moved changes which cases are compared. ${hint}.`;
    warn('row_numbers_as_case_ids', named ?? null, detail);
  }
  return warnings;
}
