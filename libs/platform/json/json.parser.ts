import { isUtf8 } from 'node:buffer';
import { parseExactly } from './exact.parser';
import { JsonInputError } from './json-input.error';
import { isPlainText } from './text.scanner';

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

/**
 * Parses a request body strictly (RFC 8259) into plain objects, arrays and primitives, of which every value
 * can be stored and answered as it was sent.
 *
 * Refused: bytes that are not UTF-8, text that is not JSON, nesting over 64 levels, a NUL character or half
 * of a surrogate pair in a string or member name, a number that a double cannot hold (one too large, one that
 * would become zero, an integer written in full that would become another). Fractions round to the nearest
 * double. A byte order mark at the beginning is skipped, as RFC 8259 allows, because some clients cannot leave
 * it out; places in error messages are counted after it.
 *
 * Of members with one name the last counts, as with `JSON.parse`. `__proto__` and `constructor` are ordinary
 * own members. The order of members is kept also where JavaScript would change it: `toJsonText` and
 * `memberNames` know it, as long as the object itself is handed on and not a copy.
 *
 * Time is linear in the length of the body. A body without any of these things costs `JSON.parse` and one
 * quick look.
 *
 * @throws JsonInputError naming what was wrong, and where.
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) {
    throw new JsonInputError('', 'The body is not valid UTF-8. Send JSON in UTF-8.');
  }
  const start = BYTE_ORDER_MARK.every((byte, place) => bytes[place] === byte) ? BYTE_ORDER_MARK.length : 0;
  const text = bytes.toString('utf8', start);
  if (isPlainText(text)) {
    try {
      return JSON.parse(text);
    } catch {
      // Not JSON: the exact parser says where, and says it without repeating the body.
    }
  }
  return parseExactly(text, { source: 'body' });
}
