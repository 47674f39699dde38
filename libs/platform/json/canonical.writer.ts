import { createHash } from 'node:crypto';
import { hasToJson, toEcmaScriptJsonText } from './json.writer';
import { objectOf } from './member-order';

/** How `JSON.stringify` writes half of a surrogate pair: an escape that no other character gets. */
const LONE_SURROGATE_ESCAPE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/**
 * The canonical form of JSON (RFC 8785): no whitespace, members sorted by the UTF-16 code units of their
 * names, numbers and strings as ECMAScript writes them. Takes what `toJsonText` takes; stored JSON counts as
 * its value.
 *
 * @throws TypeError for what has no JSON form, and for half of a surrogate pair, as RFC 8785 demands.
 */
export function canonicalJson(value: unknown): string {
  const text = toEcmaScriptJsonText(sorted(value));
  if (text.includes('\\ud') && LONE_SURROGATE_ESCAPE.test(text)) {
    throw new TypeError('A string or member name with half of a surrogate pair has no canonical form.');
  }
  return text;
}

/** SHA-256 of the canonical form of JSON (RFC 8785) in UTF-8, as 64 lower-case hexadecimal digits. */
export function sha256OfJson(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** A copy with all members in canonical order. Dates stay, for the writer to check. */
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
