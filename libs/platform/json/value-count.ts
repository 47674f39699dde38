const OBJECT = '{'.charCodeAt(0);
const LIST = '['.charCodeAt(0);
const END_OF_OBJECT = '}'.charCodeAt(0);
const END_OF_LIST = ']'.charCodeAt(0);
const COMMA = ','.charCodeAt(0);
const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
/** The greatest code of the whitespace characters of JSON. All other characters have greater codes. */
const BLANK = ' '.charCodeAt(0);

/**
 * Counts the members of objects and the elements of lists in JSON, without parsing it. Stops beyond `max`. The count of bytes
 * that are not JSON is arbitrary.
 *
 * @param maxDepth the deepest nesting. Deeper JSON counts as `max + 1` values
 */
export function countValues(bytes: Buffer, max: number, maxDepth = Infinity): number {
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
    // the first value of a container that is not empty, or one after a comma
    const isFirst = last === OBJECT || last === LIST;
    if (byte === COMMA || (isFirst && byte !== END_OF_OBJECT && byte !== END_OF_LIST)) count++;
    isText = byte === QUOTE;
    last = byte;
    if (byte === OBJECT || byte === LIST) {
      if (++depth > maxDepth) return max + 1;
    } else if (byte === END_OF_OBJECT || byte === END_OF_LIST) depth--;
  }
  return count;
}
