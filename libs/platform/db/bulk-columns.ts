import { type ArrayElements, arrayParameter, type ArrayType } from './array-parameter';
import { CopyRows } from './copy-rows';
import { join, raw, type Sql, sql } from './sql';

/** A column, its type, and a function that returns its value. */
export type BulkColumn<Row, Type extends ArrayType = ArrayType> = {
  [One in Type]: {
    readonly name: string;
    readonly type: One;
    readonly value: (row: Row) => ArrayElements[One] | null;
  };
}[Type];

/**
 * The columns of a bulk write. Each is sent as one array parameter, and PostgreSQL unfolds them side by side, in the
 * order of the rows.
 */
export class BulkColumns<Row> {
  /** Names for the column lists of a statement. */
  readonly names: string;

  constructor(private readonly columns: readonly BulkColumn<Row>[]) {
    this.names = columns.map(({ name }) => name).join(', ');
  }

  /** Names as a part of a template. */
  get columnList(): Sql {
    return raw(this.names);
  }

  /** Returns the rows as a FROM item with this alias. */
  table(rows: readonly Row[], alias: string): Sql {
    const arrays = this.columns.map((column) => sql`${encode(column, rows)}::${raw(column.type)}[]`);
    return sql`unnest(${join(arrays, ', ')}) AS ${raw(alias)}(${this.columnList})`;
  }

  /**
   * Returns the FROM item for a statement in plain text.
   *
   * @param first number of its first parameter in the statement
   */
  from(first: number, alias: string): string {
    const arrays = this.columns.map(({ type }, index) => `$${first + index}::${type}[]`);
    return `unnest(${arrays.join(', ')}) AS ${alias}(${this.names})`;
  }

  /** Yields the rows in the format of `COPY … FROM STDIN (FORMAT binary)` into these columns. */
  *copyChunks(rows: readonly Row[]): Generator<Buffer> {
    const copy = new CopyRows();
    for (const row of rows) {
      copy.row(this.columns.length);
      for (const column of this.columns) put(copy, column, row);
      if (copy.isFull) yield copy.take();
    }
    yield copy.end();
  }

  parameters(rows: readonly Row[]): Buffer[] {
    return this.columns.map((column) => encode(column, rows));
  }
}

const put = <Row, Type extends ArrayType>(
  copy: CopyRows,
  column: BulkColumn<Row, Type>,
  row: Row,
): CopyRows => copy.field(column.type, column.value(row));

const encode = <Row, Type extends ArrayType>(column: BulkColumn<Row, Type>, rows: readonly Row[]): Buffer =>
  arrayParameter(
    column.type,
    rows.map((row) => column.value(row)),
  );
