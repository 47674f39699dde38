import { isJsonObject } from '#platform/json';
import { cutText } from '../../definitions/limits';

/** A JSON object. */
export type JsonObject = Record<string, unknown>;

/** Tells whether two JSON values are equal, optionally ignoring the case of strings. */
export function isSame(a: unknown, b: unknown, caseSensitive = true): boolean {
  if (typeof a === 'string' && typeof b === 'string')
    return fold(a, caseSensitive) === fold(b, caseSensitive);
  if (Array.isArray(a)) {
    return (
      Array.isArray(b) && a.length === b.length && a.every((item, i) => isSame(item, b[i], caseSensitive))
    );
  }
  if (isJsonObject(a)) {
    const names = Object.keys(a);
    return (
      isJsonObject(b) &&
      names.length === Object.keys(b).length &&
      names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name], caseSensitive))
    );
  }
  return a === b;
}

/** Tells whether `whole` equals `part`, or is an object that includes its members, recursively. */
export function includes(whole: unknown, part: unknown, caseSensitive = true): boolean {
  if (!isJsonObject(whole) || !isJsonObject(part)) return isSame(whole, part, caseSensitive);
  return Object.keys(part).every(
    (name) => Object.hasOwn(whole, name) && includes(whole[name], part[name], caseSensitive),
  );
}

/** Returns a text for comparison: in lower case, unless the comparison is case-sensitive. */
export function fold(text: string, caseSensitive: boolean): string {
  return caseSensitive ? text : text.toLowerCase();
}

const BRIEF_LENGTH = 80;

/** Returns a value as JSON for a message, cut to 80 characters. Serializes no more than needed. */
export function brief(value: unknown): string {
  return cutText(jsonPrefix(value, BRIEF_LENGTH + 1), BRIEF_LENGTH);
}

/** Returns at least the first `length` characters of the JSON text of a value. */
function jsonPrefix(value: unknown, length: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, length));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'nothing';
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  for (const name in value) {
    if (text.length > 1) text += ',';
    if (!isList) text += `${JSON.stringify(name.slice(0, length))}:`;
    if (text.length > length) return text;
    text += jsonPrefix((value as JsonObject)[name], length - text.length);
  }
  return text + (isList ? ']' : '}');
}
