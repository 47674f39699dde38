import { toJsonText } from './json.writer';
import { RawJson } from './raw-json';

/** The stored form of a free-form value. */
export const toRawJson = (value: unknown): RawJson => new RawJson(toJsonText(value));

/** The same for a member that may be absent or null, which are both stored as NULL. */
export const toRawJsonOrNull = (value: unknown): RawJson | null =>
  value === undefined || value === null ? null : toRawJson(value);
