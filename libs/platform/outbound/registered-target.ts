/** The name of a header field (RFC 9110, section 5.1). */
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** The value of a header field (RFC 9110, section 5.5), limited to ASCII, without surrounding blanks. */
const FIELD_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** Fields that the transport writes itself. Another value could change where a message ends. */
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

/**
 * Returns the fault of a URL that a tenant registers, or null.
 *
 * @param secretMember the member of the body that takes the secret
 */
export function urlFault(text: string, secretMember = 'auth'): string | null {
  if (/[\s\p{Cc}\\]/u.test(text)) return 'must not contain spaces, control characters or backslashes';
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    return 'must be a URL that begins with http:// or https://';
  }
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text)) {
    return `must not contain a user or a password: send credentials in ${secretMember}`;
  }
  return text.includes('#') ? 'must not have a fragment (#)' : null;
}

/** Returns the fault of a header name that a tenant registers, or null. */
export function fieldNameFault(name: string): string | null {
  if (!FIELD_NAME.test(name)) return 'must be the name of a header field (RFC 9110, section 5.1)';
  const field = name.toLowerCase();
  return TRANSPORT_FIELDS.has(field) || field.startsWith('sec-') ? TRANSPORT_FIELD_FAULT : null;
}

/** The fault of the name of a header that the transport sets. */
export const TRANSPORT_FIELD_FAULT = 'must not be a header that the transport sets itself';

/** Returns the fault of a header value that a tenant registers, or null. Never repeats the value. */
export const fieldValueFault = (value: string): string | null =>
  FIELD_VALUE.test(value)
    ? null
    : 'must contain only visible ASCII characters, with spaces only between them';
