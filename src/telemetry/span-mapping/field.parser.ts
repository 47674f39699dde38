import type { OtlpValue } from '#otlp';
import { contentOf } from './content.parser';

/** Maximum number of tokens of a span. No model uses more. A larger count is a mistake that would distort every sum. */
const MAX_TOKENS = 1e9;
const MAX_DOLLARS = 1e6;

/** Maximum length of names that traces are filtered by, in characters. A longer text is stored only as an attribute. */
export const NAME_MAX = 255;

/** Returns whether a text has the length of a name. */
export const isName = (text: string): boolean =>
  // a character beyond U+FFFF counts twice in `length`
  text !== '' && (text.length <= NAME_MAX || (text.length <= 2 * NAME_MAX && [...text].length <= NAME_MAX));

/** Reads a name or an id: a text of 1 to 255 characters, or a number as text. */
export function textOf(value: OtlpValue | undefined): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && isName(value) ? value : null;
}

/** Maximum number of tags of a span, and of a trace. */
export const TAGS_MAX = 100;

/** Maximum length of a text with tags, because splitting a longer one takes long. */
const TAGS_LENGTH_MAX = 65_536;

/**
 * Reads tags: a list, a JSON list, or a text with commas. Each is a name without surrounding spaces. Skips other values. Returns
 * the first 100 distinct tags; null if there are none.
 */
export function tagsOf(value: OtlpValue | undefined): string[] | null {
  const tags = new Set<string>();
  for (const one of Array.isArray(value) ? value : splitTags(value)) {
    const tag = textOf(typeof one === 'string' ? one.trim() : one);
    if (tag !== null) tags.add(tag);
    if (tags.size === TAGS_MAX) break;
  }
  return tags.size === 0 ? null : [...tags];
}

function splitTags(value: OtlpValue | undefined): readonly OtlpValue[] {
  if (typeof value !== 'string') return value === undefined ? [] : [value];
  if (value.length > TAGS_LENGTH_MAX) return [];
  if (value.startsWith('[')) {
    const parsed = contentOf(value);
    if (Array.isArray(parsed)) return parsed;
  }
  return value.split(',');
}

/** Reads a token count, from 0 to 10^9. */
export function tokensOf(value: OtlpValue | undefined): number | null {
  const number = numberOf(value);
  return Number.isInteger(number) && number >= 0 && number <= MAX_TOKENS ? number : null;
}

/** Reads an amount of US dollars, from 0 to 10^6. */
export function dollarsOf(value: OtlpValue | undefined): number | null {
  const number = numberOf(value);
  return number >= 0 && number <= MAX_DOLLARS ? number : null;
}

/** Maximum time to a first token. A longer one was sent in another unit. */
const MAX_MILLISECONDS = 86_400_000;

/** Reads a duration in milliseconds, from 0 to a day. */
export function millisecondsOf(value: OtlpValue | undefined): number | null {
  const number = numberOf(value);
  return number >= 0 && number <= MAX_MILLISECONDS ? number : null;
}

/** Converts seconds into milliseconds. Returns NaN for anything but a number. */
export const inMilliseconds = (seconds: OtlpValue): number =>
  Number((numberOf(seconds) * 1000).toPrecision(15));

/** Maximum length of decimals, because the regular expression overflows the stack on long texts. */
const DECIMAL_LENGTH_MAX = 64;
const DECIMAL = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/** Reads a number, or a decimal text, which some instrumentations send. Returns NaN for anything else. */
export function numberOf(value: OtlpValue | undefined): number {
  if (typeof value === 'number') return value;
  const isDecimal = typeof value === 'string' && value.length <= DECIMAL_LENGTH_MAX && DECIMAL.test(value);
  return isDecimal ? Number(value) : Number.NaN;
}
