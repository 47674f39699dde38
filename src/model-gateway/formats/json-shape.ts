/** A parsed JSON object from outside. Check each member before use. */
export type JsonObject = Record<string, unknown>;

/** Returns whether a value is a JSON object. An array is not. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value if it is an object, and an empty object otherwise. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Returns the value if it is an array, and an empty array otherwise. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the value if it is a string, and undefined otherwise. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Returns the value if it is a string with at least one character, and undefined otherwise. */
export function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Maximum characters of an id or a name that is kept while a stream runs. */
const LABEL_MAX = 1_000;

/** Returns the value if it is a string that an id or a name can be: neither empty nor very long. */
export function labelOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= LABEL_MAX ? value : undefined;
}

/** Returns the value if it is a number or a label, by which parts of a stream can be found again. */
export function keyOf(value: unknown): number | string | undefined {
  return typeof value === 'number' ? value : labelOf(value);
}

/** Estimated bytes of memory of a value in a map, and of a character. */
const ENTRY_MEMORY = 64;
const CHARACTER_MEMORY = 2;

/** Returns the estimated bytes of memory of numbers and labels that are kept while a stream runs. */
export const memoryOf = (...keys: (number | string | undefined)[]): number =>
  keys.reduce<number>(
    (sum, key) => sum + ENTRY_MEMORY + (typeof key === 'string' ? CHARACTER_MEMORY * key.length : 0),
    0,
  );

/** Returns the value if it is a finite number, and undefined otherwise. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Returns the value if it is an integer from 0 to 2^53 - 1, and null otherwise. */
export function countOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

/** Returns whether a member is null or absent, which mean the same in all formats. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

/** Returns an object without its undefined members, which `in` and `toEqual` would see. */
export function withoutUndefined(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Parses a JSON text. Returns undefined if it is not an object. */
export function parsedObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a value as JSON. Returns undefined if it is nested too deeply. */
export function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
