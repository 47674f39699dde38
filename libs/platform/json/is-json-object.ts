import { RawJson } from './raw-json';

/** Tells whether a parsed JSON value is an object, and neither an array nor null. A `RawJson` is not parsed. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawJson);

/** Like `isJsonObject`, for a free-form value, which may be a `RawJson` without leading whitespace. */
export const isObjectValue = (value: unknown): boolean =>
  value instanceof RawJson ? value.text.startsWith('{') : isJsonObject(value);
