import { createHash } from 'node:crypto';
import { hasToJson, toEcmaScriptJsonText } from './json.writer';
import { objectOf } from './member-order';

/** How `JSON.stringify` writes a lone surrogate. It writes no other character as such an escape. */
const LONE_SURROGATE_ESCAPE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/**
 * Returns the canonical form of JSON (RFC 8785): no whitespace, members sorted by the UTF-16 code units of their names,
 * numbers and strings as ECMAScript writes them. Accepts what `toJsonText` accepts. Stored JSON is written by its value.
 *
 * @throws TypeError for a value without a JSON form, and for a lone surrogate, as RFC 8785 requires
 */
export function canonicalJson(value: unknown): string {
  const text = toEcmaScriptJsonText(sorted(value));
  if (text.includes('\\ud') && LONE_SURROGATE_ESCAPE.test(text)) {
    throw new TypeError('A string or member name with a lone surrogate has no canonical form.');
  }
  return text;
}

/** Returns the SHA-256 of the canonical form of JSON (RFC 8785) in UTF-8, as 64 lower-case hexadecimal digits. */
export function sha256OfJson(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** Returns a copy with all members in canonical order. Dates are kept, because the writer checks them. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(sorted);
  if (hasToJson(value)) return sorted(value.toJSON());
  const names = Object.keys(value).sort();
  return objectOf(
    names,
    names.map((name) => sorted((value as Record<string, unknown>)[name])),
  );
}
