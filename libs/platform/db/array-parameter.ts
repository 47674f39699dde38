/** Supported element types with their OIDs (pg_type.oid). */
const OIDS = {
  bool: 16,
  bytea: 17,
  text: 25,
  json: 114,
  int8: 20,
  int4: 23,
  float8: 701,
  date: 1082,
  timestamptz: 1184,
  uuid: 2950,
} as const;

/** JavaScript types of the values, by PostgreSQL type; null is NULL. */
export interface ArrayElements {
  bool: boolean;
  bytea: Buffer;
  text: string;
  /** JSON text. A Buffer contains it in UTF-8. */
  json: string | Buffer;
  /** A string contains the 64 bits as 16 hexadecimal digits. */
  int8: number | bigint | string;
  int4: number;
  float8: number;
  /** A day, such as `2026-11-20`. */
  date: string;
  /** Microseconds since 1970. */
  timestamptz: bigint;
  /** 32 hexadecimal digits. */
  uuid: string;
}

export type ArrayType = keyof ArrayElements;

/** PostgreSQL counts time from 2000-01-01. */
const EPOCH_US = 946_684_800_000_000;
const EPOCH_DAY = 10_957;
const DAY_MS = 86_400_000;

/** Number of dimensions, flag for NULLs, element type, length and lower bound of the one dimension. */
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
/** Written in place of the length if the value is NULL. */
const NULL_LENGTH = -1;

/**
 * Returns an array in PostgreSQL's binary format (array_send), as a parameter for `unnest($1::text[], …)`. The driver
 * sends a Buffer unchanged.
 *
 * For statements that write thousands of wide rows a second. It halves the server's time compared to one JSON parameter
 * and `json_to_recordset`, which parses nested values three times.
 */
export function arrayParameter<Type extends ArrayType>(
  type: Type,
  values: readonly (ArrayElements[Type] | null)[],
): Buffer {
  const write = writerOf(type);
  let size = HEADER_BYTES;
  for (const value of values) size += LENGTH_BYTES + (value === null ? 0 : write.size(value));
  const buffer = Buffer.allocUnsafe(size);
  let at = HEADER_BYTES;
  let nulls = 0;
  for (const value of values) {
    let length = NULL_LENGTH;
    if (value === null) nulls = 1;
    else length = write.put(buffer, at + LENGTH_BYTES, value);
    buffer.writeInt32BE(length, at);
    at += LENGTH_BYTES + Math.max(length, 0);
  }
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(nulls, 4);
  buffer.writeInt32BE(OIDS[type], 8);
  buffer.writeInt32BE(values.length, 12);
  buffer.writeInt32BE(1, 16);
  return buffer;
}

export const writerOf = <Type extends ArrayType>(type: Type): ElementWriter<ArrayElements[Type]> =>
  WRITERS[type] as ElementWriter<ArrayElements[Type]>;

export interface ElementWriter<Value> {
  /** Returns the encoded length in bytes. */
  size(value: Value): number;
  /** Returns an upper bound of the encoded length, which may be cheaper to compute. */
  bound(value: Value): number;
  /** Writes the value at an offset and returns its length in bytes. */
  put(buffer: Buffer, at: number, value: Value): number;
}

/** For texts up to this length in UTF-16 units, the bound is their largest possible size instead of the exact one. */
const SHORT = 16 * 1024;

const TEXT: ElementWriter<string> = {
  size: (value) => Buffer.byteLength(value),
  bound: (value) => (value.length > SHORT ? Buffer.byteLength(value) : value.length * 3),
  put: (buffer, at, value) => buffer.write(value, at),
};

const BYTES: ElementWriter<Buffer> = {
  size: (value) => value.length,
  bound: (value) => value.length,
  put: (buffer, at, value) => value.copy(buffer, at),
};

const JSON_TEXT: ElementWriter<string | Buffer> = {
  size: (value) => (typeof value === 'string' ? TEXT : BYTES).size(value as never),
  bound: (value) => (typeof value === 'string' ? TEXT : BYTES).bound(value as never),
  put: (buffer, at, value) => (typeof value === 'string' ? TEXT : BYTES).put(buffer, at, value as never),
};

const fixed = <Value>(
  bytes: number,
  write: (buffer: Buffer, at: number, value: Value) => void,
): ElementWriter<Value> => ({
  size: () => bytes,
  bound: () => bytes,
  put: (buffer, at, value) => {
    write(buffer, at, value);
    return bytes;
  },
});

/** Two to the power of 32. */
const HIGH = 0x1_0000_0000;

/** Writes an integer without creating a BigInt, which would cost more than the rest of the write. */
function writeInteger(buffer: Buffer, at: number, value: number): void {
  if (!Number.isInteger(value)) throw new RangeError(`${value} is not an integer`);
  buffer.writeInt32BE(Math.floor(value / HIGH), at);
  buffer.writeUInt32BE(value >>> 0, at + 4);
}

function writeHex(buffer: Buffer, at: number, value: string, bytes: number): void {
  if (value.length !== 2 * bytes || buffer.write(value, at, 'hex') !== bytes) {
    throw new RangeError(`${value} is not ${2 * bytes} hexadecimal digits`);
  }
}

function writeInt8(buffer: Buffer, at: number, value: number | bigint | string): void {
  if (typeof value === 'number') writeInteger(buffer, at, value);
  else if (typeof value === 'string') writeHex(buffer, at, value, 8);
  else buffer.writeBigInt64BE(value, at);
}

function writeTime(buffer: Buffer, at: number, value: bigint): void {
  const us = Number(value);
  if (Number.isSafeInteger(us)) writeInteger(buffer, at, us - EPOCH_US);
  else buffer.writeBigInt64BE(value - BigInt(EPOCH_US), at);
}

/** Writers of values in binary, without their length, for elements of arrays and fields of COPY. */
const WRITERS: { [Type in ArrayType]: ElementWriter<ArrayElements[Type]> } = {
  bool: fixed(1, (buffer, at, value) => buffer.writeUInt8(value ? 1 : 0, at)),
  bytea: BYTES,
  text: TEXT,
  json: JSON_TEXT,
  int8: fixed(8, writeInt8),
  int4: fixed(4, (buffer, at, value) => buffer.writeInt32BE(value, at)),
  float8: fixed(8, (buffer, at, value) => buffer.writeDoubleBE(value, at)),
  date: fixed(4, (buffer, at, value) => buffer.writeInt32BE(Date.parse(value) / DAY_MS - EPOCH_DAY, at)),
  timestamptz: fixed(8, writeTime),
  uuid: fixed(16, (buffer, at, value) => writeHex(buffer, at, value, 16)),
};
