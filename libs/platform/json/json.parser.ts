import { isUtf8 } from 'node:buffer';
import { parseExactly } from './exact.parser';
import { JsonInputError } from './json-input.error';
import { VALUES_MAX } from './json-limits';
import { bodyNumber } from './raw-json';
import { isPlainText } from './text.scanner';
import { countValues } from './value-count';

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

/**
 * Parses a request body strictly (RFC 8259) into plain objects, arrays and primitives that can be stored and returned
 * unchanged. A number that JavaScript would change, such as `1.0` or an integer beyond 2^53, is a `RawJson`.
 * `typedJson` converts the values of members that are not free-form.
 *
 * Rejects bytes that are not UTF-8, text that is not JSON, nesting over 64 levels, a lone surrogate in a string or member
 * name, numbers that are not finite as doubles, and more than 250,000 values. Skips a leading byte order mark, as RFC 8259
 * allows, because some clients always send one. Positions in error messages are counted after it.
 *
 * If several members have the same name, the last one counts, as with `JSON.parse`. `__proto__` and `constructor` are
 * ordinary own members. The order of members is recorded even where JavaScript would change it. `toJsonText` and
 * `memberNames` use that order, as long as they receive the object itself and not a copy.
 *
 * The time is linear in the length of the body. A typical body costs one `JSON.parse` and one fast scan.
 *
 * @param separate a member that is a list of separate elements: a rejected one becomes an `InvalidJson`, and the others are
 *   not affected
 * @throws JsonInputError with the fault and its position
 */
export function parseJson(bytes: Buffer, separate?: string): unknown {
  if (!isUtf8(bytes)) {
    throw new JsonInputError('', 'The body is not valid UTF-8. Send JSON in UTF-8.');
  }
  if (bytes.length > VALUES_MAX && countValues(bytes, VALUES_MAX) > VALUES_MAX) {
    const detail = `The body has more than ${VALUES_MAX.toLocaleString('en')} members and elements. Send fewer values.`;
    throw new JsonInputError('', detail, undefined, true);
  }
  const start = BYTE_ORDER_MARK.every((byte, place) => bytes[place] === byte) ? BYTE_ORDER_MARK.length : 0;
  const text = bytes.toString('utf8', start);
  if (isPlainText(text)) {
    try {
      return JSON.parse(text);
    } catch {
      // The exact parser reports the position of the fault, and does not repeat the body.
    }
  }
  return parseExactly(text, { number: bodyNumber, isBody: true, separate });
}
