import { type ArrayElements, type ArrayType, writerOf } from './array-parameter';

/** Header of PostgreSQL's binary COPY format (manual, COPY, "Binary Format"): signature, no flags, no extension. */
const FILE_HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)]);
/** Written in place of the number of fields after the last row. */
const END = -1;
/** Written in place of the length if a field is NULL. */
const NULL_LENGTH = -1;

const CHUNK_BYTES = 64 * 1024;

/**
 * Encodes rows for `COPY … FROM STDIN (FORMAT binary)`, field by field. Callers take the bytes in chunks, so that many or
 * large rows need neither text nor parameters. The fields of a row must have exactly the types of its columns.
 */
export class CopyRows {
  private buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  private length = 0;

  constructor() {
    this.append(FILE_HEADER);
  }

  /** Returns whether enough bytes are buffered to take them. */
  get isFull(): boolean {
    return this.length >= CHUNK_BYTES / 2;
  }

  /** Begins a row with this number of fields. */
  row(fields: number): this {
    this.reserve(2);
    this.length = this.buffer.writeInt16BE(fields, this.length);
    return this;
  }

  int4(value: number | null): this {
    return value === null ? this.word(NULL_LENGTH) : this.word(4).word(value);
  }

  int8(value: number): this {
    this.word(8).reserve(8);
    this.length = this.buffer.writeBigInt64BE(BigInt(value), this.length);
    return this;
  }

  text(value: string): this {
    const bytes = Buffer.byteLength(value);
    this.word(bytes).reserve(bytes);
    this.length += this.buffer.write(value, this.length);
    return this;
  }

  /** Writes a field of a type that arrays support. */
  field<Type extends ArrayType>(type: Type, value: ArrayElements[Type] | null): this {
    if (value === null) return this.word(NULL_LENGTH);
    const writer = writerOf(type);
    this.reserve(4 + writer.bound(value));
    const length = writer.put(this.buffer, this.length + 4, value);
    this.buffer.writeInt32BE(length, this.length);
    this.length += 4 + length;
    return this;
  }

  bytea(value: Buffer): this {
    this.word(value.length);
    return this.append(value);
  }

  /** Returns the bytes written since the last call. */
  take(): Buffer {
    const bytes = this.buffer.subarray(0, this.length);
    this.buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    this.length = 0;
    return bytes;
  }

  /** Ends the COPY and returns the remaining bytes. */
  end(): Buffer {
    return this.row(END).take();
  }

  private word(value: number): this {
    this.reserve(4);
    this.length = this.buffer.writeInt32BE(value, this.length);
    return this;
  }

  private append(bytes: Buffer): this {
    this.reserve(bytes.length);
    this.length += bytes.copy(this.buffer, this.length);
    return this;
  }

  private reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed + CHUNK_BYTES / 2, this.buffer.length * 2));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}
