import { toJsonText } from './json.writer';
import { RawJson } from './raw-json';

/** Returns the stored form of a free-form value. Returns a `RawJson` unchanged, because it may be large. */
export const toRawJson = (value: unknown): RawJson =>
  value instanceof RawJson ? value : new RawJson(toJsonText(value));

/** Like `toRawJson`, for a member that may be absent or null. Both are stored as NULL. */
export const toRawJsonOrNull = (value: unknown): RawJson | null =>
  value === undefined || value === null ? null : toRawJson(value);
