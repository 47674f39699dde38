import { pointerToken, RawJson, toRawJson } from '#platform/json';
import { fieldNameFault, fieldValueFault } from '#platform/outbound';
import type { FieldError } from '#platform/problem';

export const HEADERS_MAX = 32;
export const HEADER_VALUE_MAX = 4_096;
const HEADER_NAME_MAX = 255;

/** Names of headers that usually carry credentials. */
const CREDENTIALS = /^(?:proxy-)?authorization$|^cookie$|key|token|secret|password/i;
const credentialsFault = (secretMember: string): string =>
  `must not be a header that usually carries a credential: secrets belong in \`${secretMember}\`, which is encrypted`;

/**
 * Returns the faults of each header of a body.
 *
 * @param options.isPatch allows null, which removes a header
 * @param options.secretMember the member of the body that takes the secret
 */
export function headersFaults(
  headers: Record<string, unknown>,
  pointer: string,
  { isPatch = false, secretMember = 'auth' }: { isPatch?: boolean; secretMember?: string } = {},
): FieldError[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const detail = CREDENTIALS.test(name)
      ? credentialsFault(secretMember)
      : headerFault(name, value, isPatch);
    return detail === null ? [] : [{ pointer: `${pointer}/${pointerToken(name)}`, detail }];
  });
}

function headerFault(name: string, value: unknown, isPatch: boolean): string | null {
  if (name.length > HEADER_NAME_MAX) return `must have a name of at most ${HEADER_NAME_MAX} characters`;
  const nameFault = fieldNameFault(name);
  if (nameFault !== null) return nameFault;
  if (value === null && isPatch) return null;
  if (typeof value !== 'string') return 'must be a string';
  if (value.length > HEADER_VALUE_MAX) return `must have at most ${HEADER_VALUE_MAX} characters`;
  return fieldValueFault(value);
}

/**
 * Returns the faults of headers in combination.
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
