import { type ArrayElements, type ArrayType, writerOf } from './array-parameter';

/** Begins a file of PostgreSQL's binary COPY format (manual, COPY, "Binary Format"): signature, no flags, no extension. */
const BEGINNING = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)]);
/** In place of the number of a row's fields. */
const END = -1;
/** In place of the length of a field. */
const NULL_LENGTH = -1;

const PIECE_BYTES = 64 * 1024;

/**
 * Rows for a `COPY … FROM STDIN (FORMAT binary)`, written field by field and taken in pieces: many of them, or large
 * ones, cost neither text nor a parameter. The fields of a row must be of exactly the types of its columns.
 */
export class CopyRows {
  private buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
  private length = 0;

  constructor() {
    this.bytesOf(BEGINNING);
  }

  /** Returns whether enough bytes are buffered to take them. */
  get isFull(): boolean {
    return this.length >= PIECE_BYTES / 2;
  }

  /** Begins a row of so many fields. */
  row(fields: number): this {
    this.room(2);
    this.length = this.buffer.writeInt16BE(fields, this.length);
    return this;
  }

  int4(value: number | null): this {
    return value === null ? this.word(NULL_LENGTH) : this.word(4).word(value);
  }

  int8(value: number): this {
    this.word(8).room(8);
    this.length = this.buffer.writeBigInt64BE(BigInt(value), this.length);
    return this;
  }

  text(value: string): this {
    const bytes = Buffer.byteLength(value);
    this.word(bytes).room(bytes);
    this.length += this.buffer.write(value, this.length);
    return this;
  }

  /** A field of one of the types that arrays have, too. */
  field<Type extends ArrayType>(type: Type, value: ArrayElements[Type] | null): this {
    if (value === null) return this.word(NULL_LENGTH);
    const writer = writerOf(type);
    this.room(4 + writer.bound(value));
    const length = writer.put(this.buffer, this.length + 4, value);
    this.buffer.writeInt32BE(length, this.length);
    this.length += 4 + length;
    return this;
  }

  bytea(value: Buffer): this {
    this.word(value.length);
    return this.bytesOf(value);
  }

  /** Returns the bytes written since the last call. */
  take(): Buffer {
    const taken = this.buffer.subarray(0, this.length);
    this.buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
    this.length = 0;
    return taken;
  }

  /** The same, when there are no more rows. */
  end(): Buffer {
    return this.row(END).take();
  }

  private word(value: number): this {
    this.room(4);
    this.length = this.buffer.writeInt32BE(value, this.length);
    return this;
  }

  private bytesOf(bytes: Buffer): this {
    this.room(bytes.length);
    this.length += bytes.copy(this.buffer, this.length);
    return this;
  }

  private room(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed + PIECE_BYTES / 2, this.buffer.length * 2));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}
