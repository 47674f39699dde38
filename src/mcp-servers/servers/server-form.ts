import type { FieldError } from '#platform/problem';
import type { AuthType, ServerEntity } from './server.entity';

export const SERVER_URL_MAX = 2_048;
export const AUTH_HEADER_MAX = 255;
export const AUTH_VALUE_MAX = 8_192;

/** The name of a header field (RFC 9110, section 5.1). */
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What a header field may hold (RFC 9110, section 5.5), of ASCII: nothing that ends it, no blanks around it. */
const FIELD_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** Fields that the transport writes itself: what somebody else put there would change where a message ends. */
const TRANSPORT_FIELDS = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'last-event-id',
  'origin',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]);

/** What is wrong with the address of a server; null where nothing is. */
export function urlFault(text: string): string | null {
  if (/[\s\p{Cc}\\]/u.test(text)) return 'must not hold blanks, control characters or backslashes';
  const url = /^https?:\/\//i.test(text) ? parsed(text) : null;
  if (!url) return 'must be an address that begins with http:// or https://';
  if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text)) {
    return 'must not hold a user or a password: they belong into auth';
  }
  return text.includes('#') ? 'must not have a fragment (#)' : null;
}

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** What of an address may be told to more people than who reads the server: its query may carry a key. */
export const withoutQuery = (url: string): string => url.replace(/\?.*$/s, '');

/** What tells to whom, and how, a server's secret is sent. */
export type SecretUse = Pick<ServerEntity, 'url' | 'auth_type' | 'auth_header'>;

/** What makes another use of a secret than the one it was given for; null where it is the same. */
export function otherUse(given: SecretUse, next: SecretUse): 'type' | 'header' | 'origin' | null {
  if (next.auth_type !== given.auth_type) return 'type';
  // the names of header fields are the same in small letters (RFC 9110, section 5.1)
  if (next.auth_header?.toLowerCase() !== given.auth_header?.toLowerCase()) return 'header';
  return originOf(next.url) === originOf(given.url) ? null : 'origin';
}

/** Scheme, host and port. */
const originOf = (url: string): string => new URL(url).origin;

/** How the service shows who it is, as a body has it or as it comes out of a patch. */
export interface GivenAuth {
  type: AuthType;
  header?: string | null;
  value?: string | null;
}

/**
 * What is wrong between the members of `auth`. Never repeats the secret.
 *
 * @param pointer of `auth`
 */
export function authFaults({ type, header, value }: GivenAuth, pointer: string): FieldError[] {
  const faults: FieldError[] = [];
  const fault = (member: string, detail: string) => faults.push({ pointer: `${pointer}/${member}`, detail });
  if (type === 'header') {
    const detail = header == null ? 'is required where the type is header' : headerFault(header);
    if (detail !== null) fault('header', detail);
  } else if (header != null) fault('header', 'is for the type header alone');
  if (value == null) return faults;
  if (type === 'none') fault('value', 'cannot go with the type none');
  else if (!FIELD_VALUE.test(value) || (type === 'bearer' && /[\t ]/.test(value))) {
    fault(
      'value',
      `must be visible ASCII characters${type === 'bearer' ? '' : ', with blanks only between them'}`,
    );
  }
  return faults;
}

function headerFault(name: string): string | null {
  if (!FIELD_NAME.test(name)) return 'must be the name of a header field (RFC 9110, section 5.1)';
  const field = name.toLowerCase();
  return TRANSPORT_FIELDS.has(field) || /^(?:mcp|sec)-/.test(field)
    ? 'must not be a header field that the transport writes itself'
    : null;
}
