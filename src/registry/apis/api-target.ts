import { pointerToken } from '#platform/http';
import { RawJson, toRawJson } from '#platform/json';
import { fieldNameFault, fieldValueFault, urlFault } from '#platform/outbound';
import type { FieldError } from '#platform/problem';
import { API_METHODS, type ApiMethod } from './api.entity';

export const HEADERS_MAX = 32;
export const HEADER_VALUE_MAX = 4_096;
const HEADER_NAME_MAX = 255;

/** A percent sign that is encoded any number of times, because a server may decode a path more than once. */
const DOT = /%(?:25)*2e/gi;
const SLASHES = /%(?:25)*(?:2f|5c)/i;

/** Returns what is wrong with the base URL of an API, or null. */
export function baseUrlFault(text: string): string | null {
  const common = urlFault(text);
  if (common !== null) return common;
  const [, path] = /^https?:\/\/[^/?]+(\/[^?]*)?/i.exec(text) ?? [];
  if (!/^https?:\/\/[^/?]/i.test(text)) return 'must have a host after http:// or https://';
  if (text.includes('?')) return 'must not have a query (?): callers send it, and a secret belongs in auth';
  if (path === undefined) return null;
  if (SLASHES.test(path)) return 'must not contain an encoded slash or backslash (%2F, %5C) in its path';
  const segments = path.split('/').map((segment) => segment.replace(DOT, '.'));
  return segments.some((segment) => segment === '.' || segment === '..')
    ? 'must not contain the segments . and .. in its path, encoded or not'
    : null;
}

/** Returns a valid base URL as it is stored: as it was sent, without slashes at its end. */
export const storedBaseUrl = (text: string): string => text.replace(/\/+$/, '');

/** Returns methods as they are stored. Unknown ones, which are 422, are left out. */
export const storedMethods = (given: readonly string[] | null | undefined): ApiMethod[] =>
  API_METHODS.filter((method) => given == null || given.includes(method));

/** Names of headers that usually carry credentials. */
const CREDENTIALS = /^(?:proxy-)?authorization$|^cookie$|key|token|secret|password/i;
const CREDENTIALS_FAULT =
  'must not be a header that usually carries a credential: secrets belong in `auth`, which is encrypted';

/**
 * Returns what is wrong with the headers of a body.
 *
 * @param isPatch a null removes a header
 */
export function headersFaults(
  headers: Record<string, unknown>,
  pointer: string,
  isPatch = false,
): FieldError[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const detail = headerFault(name, value, isPatch);
    return detail === null ? [] : [{ pointer: `${pointer}/${pointerToken(name)}`, detail }];
  });
}

function headerFault(name: string, value: unknown, isPatch: boolean): string | null {
  if (name.length > HEADER_NAME_MAX) return `must have a name of at most ${HEADER_NAME_MAX} characters`;
  if (CREDENTIALS.test(name)) return CREDENTIALS_FAULT;
  const ofName = fieldNameFault(name);
  if (ofName !== null) return ofName;
  if (value === null && isPatch) return null;
  if (typeof value !== 'string') return 'must be a string';
  if (value.length > HEADER_VALUE_MAX) return `must have at most ${HEADER_VALUE_MAX} characters`;
  return fieldValueFault(value);
}

/**
 * Returns what is wrong with the headers of an API together.
 *
 * @param secretHeader the header that carries the secret, or null
 */
export function headersFaultsTogether(
  headers: Record<string, unknown>,
  secretHeader: string | null,
  pointer: string,
): FieldError[] {
  const names = Object.keys(headers);
  if (names.length > HEADERS_MAX) return [{ pointer, detail: `must have at most ${HEADERS_MAX} headers` }];
  const seen = new Set<string>();
  return names.flatMap((name) => {
    const field = name.toLowerCase();
    const isRepeated = seen.has(field);
    seen.add(field);
    const detail = isRepeated
      ? 'must not differ from another header only in upper and lower case'
      : field === secretHeader?.toLowerCase()
        ? 'must not be the header that carries the secret of `auth`'
        : null;
    return detail === null ? [] : [{ pointer: `${pointer}/${pointerToken(name)}`, detail }];
  });
}

/** Merges a patch of headers (RFC 7396). Null removes all of them. */
export function patchedHeaders(stored: RawJson, patch: object | null | undefined): RawJson {
  if (patch === undefined) return stored;
  if (patch === null) return new RawJson('{}');
  const merged = new Map(Object.entries(parsedHeaders(stored)));
  for (const [name, value] of Object.entries(patch) as [string, string | null][]) {
    if (value === null) merged.delete(name);
    else merged.set(name, value);
  }
  return toRawJson(Object.fromEntries(merged));
}

/** Returns stored headers by name. */
export const parsedHeaders = (stored: RawJson): Record<string, string> =>
  stored.parse() as Record<string, string>;
