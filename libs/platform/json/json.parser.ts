import { isUtf8 } from 'node:buffer';
import { parseExactly } from './exact.parser';
import { JsonInputError } from './json-input.error';
import { hasFreeForm, type Outline } from './outline';
import { RawJson } from './raw-json';
import { isPlainText } from './text.scanner';

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;
const TYPED: Outline = { kind: 'whole' };

/**
 * Parses a request body strictly (RFC 8259) into plain objects, arrays and primitives that can be stored and returned
 * unchanged.
 *
 * Rejects bytes that are not UTF-8, text that is not JSON, nesting over 64 levels, a lone surrogate in a string or member
 * name, and numbers that are not finite as doubles. In typed members, also rejects NUL characters, and numbers that a double
 * cannot represent (nonzero but rounded to zero, or an integer without exponent that would become another integer).
 * Fractions round to the nearest double. Skips a leading byte order mark, as RFC 8259 allows, because some clients always
 * send one. Positions in error messages are counted after it.
 *
 * Free-form members keep all characters of their numbers. A number that JavaScript would change is a `RawJson`.
 *
 * If several members have the same name, the last one counts, as with `JSON.parse`. `__proto__` and `constructor` are
 * ordinary own members. The order of members is recorded even where JavaScript would change it. `toJsonText` and
 * `memberNames` use that order, as long as they receive the object itself and not a copy.
 *
 * The time is linear in the length of the body. A typical body costs one `JSON.parse` and one fast scan.
 *
 * @param outline which members are free-form. Without one, all are typed
 * @throws JsonInputError with the fault and its position
 */
export function parseJson(bytes: Buffer, outline = TYPED): unknown {
  if (!isUtf8(bytes)) {
    throw new JsonInputError('', 'The body is not valid UTF-8. Send JSON in UTF-8.');
  }
  const start = BYTE_ORDER_MARK.every((byte, place) => bytes[place] === byte) ? BYTE_ORDER_MARK.length : 0;
  const text = bytes.toString('utf8', start);
  if (isPlainText(text, hasFreeForm(outline) ? 'digits' : 'values')) {
    try {
      return JSON.parse(text);
    } catch {
      // The exact parser reports the position of the fault, and does not repeat the body.
    }
  }
  return parseExactly(text, { source: 'body', outline, keep: RawJson.of });
}
