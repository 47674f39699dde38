import { type ArrayElements, arrayParameter, type ArrayType, writerOf } from './array-parameter';
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
   * Returns a query for a few rows (tens at most), for prepared statements. The LIMIT makes PostgreSQL estimate one row. Without
   * the LIMIT, it estimates ten, prefers custom plans, and plans every execution.
   */
  few(rows: readonly Row[]): Sql {
    return sql`SELECT * FROM ${this.table(rows, 'input')} LIMIT ${rows.length}`;
  }

  /**
   * Yields batches of rows in the format of `COPY … FROM STDIN (FORMAT binary)` into these columns, so that many or large rows
   * need neither text nor parameters. The types must be exactly those of the columns.
   */
  async *copyChunks(
    batches: Iterable<readonly Row[]> | AsyncIterable<readonly Row[]>,
  ): AsyncGenerator<Buffer, void, undefined> {
    const copy = new CopyBuffer();
    for await (const rows of batches) {
      for (const row of rows) {
        copy.writeInt16(this.columns.length);
        for (const column of this.columns) put(copy, column, row);
        if (copy.isFull) yield copy.take();
      }
    }
    copy.writeInt16(END);
    yield copy.take();
  }
}

const put = <Row, Type extends ArrayType>(
  copy: CopyBuffer,
  { type, value }: BulkColumn<Row, Type>,
  row: Row,
): void => copy.writeField(type, value(row));

const encode = <Row, Type extends ArrayType>(column: BulkColumn<Row, Type>, rows: readonly Row[]): Buffer =>
  arrayParameter(
    column.type,
    rows.map((row) => column.value(row)),
  );

/** Header of PostgreSQL's binary COPY format (manual, COPY, "Binary Format"): signature, no flags, no extension. */
const FILE_HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)]);
/** Written in place of the number of fields after the last row. */
const END = -1;
/** Written in place of the length if a field is NULL. */
const NULL_LENGTH = -1;

const CHUNK_BYTES = 64 * 1024;

/** Encodes rows in PostgreSQL's binary COPY format. The bytes are taken in chunks. */
class CopyBuffer {
  private buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  private length = FILE_HEADER.copy(this.buffer);

  /** Returns whether enough bytes are buffered to take them. */
  get isFull(): boolean {
    return this.length >= CHUNK_BYTES / 2;
  }

  writeInt16(value: number): void {
    this.reserve(2);
    this.length = this.buffer.writeInt16BE(value, this.length);
  }

  writeField<Type extends ArrayType>(type: Type, value: ArrayElements[Type] | null): void {
    const writer = writerOf(type);
    this.reserve(4 + (value === null ? 0 : writer.bound(value)));
    const at = this.length + 4;
    const length = value === null ? NULL_LENGTH : writer.put(this.buffer, at, value);
    this.buffer.writeInt32BE(length, this.length);
    this.length = at + Math.max(length, 0);
  }

  /** Returns the bytes written since the last call. */
  take(): Buffer {
    const bytes = this.buffer.subarray(0, this.length);
    this.buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    this.length = 0;
    return bytes;
  }

  private reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed + CHUNK_BYTES / 2, this.buffer.length * 2));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}
