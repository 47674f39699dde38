import { isJsonObject, JsonInputError, type Outline, parseJson, toJsonText } from '#platform/json';
import { type CsvLayout, quoteShort } from './csv.columns';

/**
 * Maximum size of a cell of tags or JSON metadata, in bytes, so that no cell takes long to parse. 100 tags of 255 characters
 * need less.
 */
export const PARSED_CELL_BYTES = 256 * 1024;

/** A fault in a cell of tags or JSON metadata. The detail is the predicate of a sentence about the row. */
export class CellFault extends Error {
  /** @param pointer to the cell, if the row has one for it */
  constructor(
    readonly detail: string,
    readonly pointer = '',
  ) {
    super(detail);
    this.name = 'CellFault';
  }
}

/** Reads the column of JSON metadata of a file without a mapping. */
export class JsonMetadata {
  /** Index of the column. -1 if the file has none. */
  readonly at: number;
  /** The columns of metadata whose cell is a member of the metadata. */
  readonly others: readonly string[];

  constructor({ columns, mapping, valueColumns }: CsvLayout) {
    const column = mapping.metadata.find((one) => valueColumns.includes(one));
    this.at = column === undefined ? -1 : columns.indexOf(column);
    this.others = mapping.metadata.filter((one) => one !== column);
  }

  /**
   * Returns the members of the object in a cell, as JSON text without braces. A blank cell has none. Errors: `CellFault`,
   * including for a member with the name of another column, because one value would hide the other.
   */
  membersOf(cell: string): string {
    if (cell.trim() === '') return '';
    const value = parse(cell);
    if (!isJsonObject(value)) throw new CellFault('has metadata that is not a JSON object');
    const duplicate = this.others.find((column) => Object.hasOwn(value, column));
    if (duplicate !== undefined) {
      throw new CellFault(
        `has metadata with the member ${quoteShort(duplicate)}, but the file has a column of this name. Rename one of them`,
      );
    }
    return toJsonText(value).slice(1, -1);
  }
}

/** Numbers keep their digits. */
const FREE_FORM: Outline = { kind: 'whole', isFreeForm: true };

function parse(cell: string): unknown {
  try {
    return parseJson(Buffer.from(cell), FREE_FORM);
  } catch (error) {
    if (!(error instanceof JsonInputError)) throw error;
    const { pointer, detail, syntaxFault } = error;
    const fault = syntaxFault?.replace(/ at line \d+, column/, ' at column');
    throw new CellFault(
      fault
        ? `has metadata that is not JSON: ${fault}`
        : `has metadata that cannot be stored${pointer && `, at ${pointer}`}: ${detail}`,
    );
  }
}
