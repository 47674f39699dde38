const OBJECT = '{'.charCodeAt(0);
const LIST = '['.charCodeAt(0);
const END_OF_OBJECT = '}'.charCodeAt(0);
const END_OF_LIST = ']'.charCodeAt(0);
const COMMA = ','.charCodeAt(0);
const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
/** The greatest code of the whitespace characters of JSON. All other characters have greater codes. */
const BLANK = ' '.charCodeAt(0);
const MINUS = '-'.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);
const NINE = '9'.charCodeAt(0);

export interface CountOptions {
  /** The deepest nesting. Deeper JSON counts as `max + 1` values. Default: any. */
  maxDepth?: number;
  /** What a number in a list counts, because lists of numbers are cheap to parse. Default: 1. */
  numberWeight?: number;
}

/** Estimated bytes of a parsed value in V8, apart from its characters. */
const VALUE_BYTES = 64;

/** Returns the estimated memory of JSON after parsing, in bytes. @param maxValues counts no more values than this */
export const parsedSizeOf = (bytes: Buffer, maxValues = Infinity): number =>
  bytes.length + countValues(bytes, maxValues) * VALUE_BYTES;

/**
 * Counts the members of objects and the elements of lists in JSON, without parsing it. Stops beyond `max`. The count of bytes
 * that are not JSON is arbitrary.
 */
export function countValues(
  bytes: Buffer,
  max: number,
  { maxDepth = Infinity, numberWeight = 1 }: CountOptions = {},
): number {
  let count = 0;
  let depth = 0;
  let last = 0;
  let isText = false;
  for (let at = 0; at < bytes.length && count <= max; at++) {
    const byte = bytes[at]!;
    if (isText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isText = false;
      continue;
    }
    if (byte <= BLANK) continue;
    // the start of an element or of a member's name
    const isStart = last === OBJECT || last === LIST || last === COMMA;
    if (isStart && byte !== END_OF_OBJECT && byte !== END_OF_LIST) {
      const isNumber = (byte >= ZERO && byte <= NINE) || byte === MINUS;
      count += isNumber ? numberWeight : 1;
    }
    isText = byte === QUOTE;
    last = byte;
    if (byte === OBJECT || byte === LIST) {
      if (++depth > maxDepth) return max + 1;
    } else if (byte === END_OF_OBJECT || byte === END_OF_LIST) depth--;
  }
  return count;
}
