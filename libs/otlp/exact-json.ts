import { parseExactly as parse, RawJson } from '#platform/json';

/** Matches an integer of 16 digits or more in the position of a value, possibly inside a string. */
const LONG_INTEGER = /(?:^|[:,[\s])-?\d{16}/;

/** Matches an integer that may fit into 64 bits, but not into a double. */
const KEPT = /^-?\d{16,20}$/;

/**
 * Parses JSON like `JSON.parse`, but keeps integers of 16 to 20 digits exact. As numbers, they would lose their last digits, so
 * that a time in nanoseconds would not be exact to the microsecond. {@link longDigits} reads them.
 *
 * @throws SyntaxError for invalid JSON
 */
export function parseExactly(text: string): unknown {
  if (!LONG_INTEGER.test(text)) return JSON.parse(text);
  try {
    return parse(text, {
      number: (literal) => (KEPT.test(literal) ? new RawJson(literal) : Number(literal)),
    });
  } catch {
    return JSON.parse(text); // also throws, except for JSON that is nested too deeply for the exact parser
  }
}

/** Returns the digits, with the sign, of an integer that was too long for a number; undefined for other values. */
export const longDigits = (value: unknown): string | undefined =>
  value instanceof RawJson ? value.text : undefined;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;

/** Returns whether a JSON text has more than this many objects, lists and commas. Counts them without parsing. */
export function hasMoreElements(text: Buffer, max: number): boolean {
  if (text.length <= max) return false;
  let elements = 0;
  let isText = false;
  for (let at = 0; at < text.length && elements <= max; at++) {
    const byte = text[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA || byte === BRACE || byte === BRACKET) elements++;
  }
  return elements > max;
}
