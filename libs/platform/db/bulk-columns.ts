import { type ArrayElements, arrayParameter, type ArrayType } from './array-parameter';
import { CopyRows } from './copy-rows';
import { join, raw, type Sql, sql } from './sql';

/** A column, its type, and where its value comes from. */
export type BulkColumn<Row, Type extends ArrayType = ArrayType> = {
  [One in Type]: {
    readonly name: string;
    readonly type: One;
    readonly value: (row: Row) => ArrayElements[One] | null;
  };
}[Type];

/**
 * The columns of a bulk write: each travels as one array parameter, and PostgreSQL unfolds them side by side, in the
 * order of the rows.
 */
export class BulkColumns<Row> {
  /** The names, for the column lists of a statement. */
  readonly names: string;

  constructor(private readonly columns: readonly BulkColumn<Row>[]) {
    this.names = columns.map(({ name }) => name).join(', ');
  }

  /** The names, as part of a template. */
  get columnList(): Sql {
    return raw(this.names);
  }

  /** The rows as a table of this name, for what follows FROM. */
  table(rows: readonly Row[], alias: string): Sql {
    const arrays = this.columns.map((column) => sql`${encode(column, rows)}::${raw(column.type)}[]`);
    return sql`unnest(${join(arrays, ', ')}) AS ${raw(alias)}(${this.columnList})`;
  }

  /**
   * Returns the FROM item for a statement in plain text.
   *
   * @param first number of the first of these parameters in the statement
   */
  from(first: number, alias: string): string {
    const arrays = this.columns.map(({ type }, index) => `$${first + index}::${type}[]`);
    return `unnest(${arrays.join(', ')}) AS ${alias}(${this.names})`;
  }

  /** The rows as a `COPY … FROM STDIN (FORMAT binary)` into these columns takes them, in pieces. */
  *copied(rows: readonly Row[]): Generator<Buffer> {
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
