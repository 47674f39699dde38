import type { OtlpValue } from '#otlp';

/** No model reads or writes so many tokens in a span: such a count is a mistake, and one of them spoils every sum. */
const MAX_TOKENS = 1e9;
const MAX_DOLLARS = 1e6;

/** Names that traces are found and shown by, in characters; a longer text is no name. It stays among the attributes. */
export const NAME_MAX = 255;

/** Whether a text is a name by its length. */
export const isName = (text: string): boolean =>
  // characters beyond U+FFFF are two units each
  text !== '' && (text.length <= NAME_MAX || (text.length <= 2 * NAME_MAX && [...text].length <= NAME_MAX));

/** A name or an id: a text of 1 to 255 characters, or a number written out. */
export function textOf(value: OtlpValue | undefined): string | null {
  if (typeof value === 'number') {
    return String(value);
  }
  return typeof value === 'string' && isName(value) ? value : null;
}

/** A whole number of tokens, from 0 to 10^9. */
export function tokensOf(value: OtlpValue | undefined): number | null {
  const number = numberOf(value);
  return Number.isInteger(number) && number >= 0 && number <= MAX_TOKENS ? number : null;
}

/** An amount from 0 to 10^6. */
export function dollarsOf(value: OtlpValue | undefined): number | null {
  const number = numberOf(value);
  return number >= 0 && number <= MAX_DOLLARS ? number : null;
}

/** Longer texts are no count and no amount; V8 would look through them with a stack, which ends. */
const DECIMAL_LENGTH_MAX = 64;
const DECIMAL = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/** The number, also of its decimal text, as some instrumentations send it; NaN when it is none. */
function numberOf(value: OtlpValue | undefined): number {
  if (typeof value === 'number') {
    return value;
  }
  const isDecimal = typeof value === 'string' && value.length <= DECIMAL_LENGTH_MAX && DECIMAL.test(value);
  return isDecimal ? Number(value) : Number.NaN;
}
