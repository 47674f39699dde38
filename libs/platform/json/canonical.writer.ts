import { createHash } from 'node:crypto';
import { hasToJson, toEcmaScriptJsonText } from './json.writer';
import { objectOf } from './member-order';
import { canonicalNumber, hasOtherDigits } from './number.rule';
import { RawJson } from './raw-json';

/** The escape that `JSON.stringify` writes for a lone surrogate, and for no other character. */
const LONE_SURROGATE_ESCAPE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/**
 * Returns the canonical form of JSON (RFC 8785): no whitespace, members sorted by the UTF-16 code units of their names,
 * numbers and strings as ECMAScript writes them. Accepts what `toJsonText` accepts.
 *
 * RFC 8785 supports only doubles. A number of a `RawJson` that is not a double is written with all its digits, so that
 * values with different numbers never have the same form. Integers up to 2^53, and fractions that a double represents
 * exactly, are written as RFC 8785 requires.
 *
 * @throws TypeError for a value without a JSON form, and for a lone surrogate, as RFC 8785 requires
 */
export function canonicalJson(value: unknown): string {
  const text = toEcmaScriptJsonText(sortMembers(value));
  if (text.includes('\\ud') && LONE_SURROGATE_ESCAPE.test(text)) {
    throw new TypeError('A string or member name with a lone surrogate has no canonical form.');
  }
  return text;
}

/** Returns the SHA-256 of the canonical form of JSON (RFC 8785) in UTF-8, as 64 lower-case hexadecimal digits. */
export function sha256OfJson(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** Tells whether two JSON texts have the same value. The order of members and the spelling of numbers do not matter. */
export const sameJson = (one: RawJson, other: RawJson): boolean =>
  one.text === other.text || canonicalJson(one) === canonicalJson(other);

/**
 * Returns a copy with all members in canonical order. Dates stay unchanged, because the writer checks them.
 *
 * @param hasAllDigits whether integers beyond 2^53 are written with all their digits
 */
function sortMembers(value: unknown, hasAllDigits = false): unknown {
  if (typeof value === 'number' && hasAllDigits && hasOtherDigits(value))
    return exact(BigInt(value).toString());
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map((element) => sortMembers(element, hasAllDigits));
  if (value instanceof RawJson) {
    return NUMBER.test(value.text) ? exact(value.text) : sortMembers(value.parseExactly(), true);
  }
  if (hasToJson(value)) return sortMembers(value.toJSON(), hasAllDigits);
  const names = Object.keys(value).sort();
  return objectOf(
    names,
    names.map((name) => sortMembers((value as Record<string, unknown>)[name], hasAllDigits)),
  );
}

/** Matches the text of a number. */
const NUMBER = /^-?[0-9]/;

const exact = (literal: string): RawJson => new RawJson(canonicalNumber(literal));
