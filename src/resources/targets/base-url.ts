import { urlFault } from '#platform/outbound';
import type { FieldError } from '#platform/problem';

/** A percent sign that is encoded any number of times, because a server may decode a path more than once. */
const DOT = /%(?:25)*2e/gi;
const SLASHES = /%(?:25)*(?:2f|5c)/i;

/**
 * Returns the fault of a base URL that a tenant registers, or null.
 *
 * @param secretMember the member of the body that takes the secret
 */
export function baseUrlFault(text: string, secretMember = 'auth'): string | null {
  const common = urlFault(text, secretMember);
  if (common !== null) return common;
  const [, path] = /^https?:\/\/[^/?]+(\/[^?]*)?/i.exec(text) ?? [];
  if (!/^https?:\/\/[^/?]/i.test(text)) return 'must have a host after http:// or https://';
  if (text.includes('?')) return `must not have a query (?). A secret belongs in ${secretMember}`;
  if (path === undefined) return null;
  if (SLASHES.test(path)) return 'must not contain an encoded slash or backslash (%2F, %5C) in its path';
  const segments = path.split('/').map((segment) => segment.replace(DOT, '.'));
  return segments.some((segment) => segment === '.' || segment === '..')
    ? 'must not contain the segments . and .. in its path, encoded or not'
    : null;
}

/** Returns the stored form of a valid base URL: unchanged, but without trailing slashes. */
export const storedBaseUrl = (text: string): string => text.replace(/\/+$/, '');

/** Returns the faults of the member `base_url` of a body. See `baseUrlFault`. @param pointer of the body */
export function baseUrlFaults(url: string, pointer: string, secretMember?: string): FieldError[] {
  const detail = baseUrlFault(url, secretMember);
  return detail === null ? [] : [{ pointer: `${pointer}/base_url`, detail }];
}

/** Returns the origin of a valid URL. A secret is never sent to an origin other than the one it was registered for. */
export const originOf = (url: string): string => new URL(url).origin;
