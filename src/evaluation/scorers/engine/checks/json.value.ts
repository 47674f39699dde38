import { isJsonObject } from '#platform/json';
import { cutText } from '../../definitions/limits';

/** A JSON object. */
export type JsonObject = Record<string, unknown>;

/** Whether two JSON values are equal. Can ignore the case of strings. */
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

/** Whether `whole` equals `part`, or is an object that includes its members, recursively. */
export function includes(whole: unknown, part: unknown, caseSensitive = true): boolean {
  if (!isJsonObject(whole) || !isJsonObject(part)) return isSame(whole, part, caseSensitive);
  return Object.keys(part).every(
    (name) => Object.hasOwn(whole, name) && includes(whole[name], part[name], caseSensitive),
  );
}

/** Returns a text for comparison, in lower case if case does not matter. */
export function fold(text: string, caseSensitive: boolean): string {
  return caseSensitive ? text : text.toLowerCase();
}

const BRIEF_LENGTH = 80;

/** Returns a value for people to read: as JSON, cut to 80 characters. Serializes only that much. */
export function brief(value: unknown): string {
  return cutText(beginning(value, BRIEF_LENGTH + 1), BRIEF_LENGTH);
}

/** Returns at least the first `room` characters of the JSON text of a value. */
function beginning(value: unknown, room: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, room));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'nothing';
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  for (const name in value) {
    if (text.length > 1) text += ',';
    if (!isList) text += `${JSON.stringify(name.slice(0, room))}:`;
    if (text.length > room) return text;
    text += beginning((value as JsonObject)[name], room - text.length);
  }
  return text + (isList ? ']' : '}');
}
