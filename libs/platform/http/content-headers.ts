import type { IncomingMessage } from 'node:http';
import { Problem } from '#platform/problem';

/** Returns the media type of a request's body in lower case, without parameters; undefined when none is named. */
export const mediaTypeOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined =>
  headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();

/** US-ASCII text is UTF-8 text too. */
const CHARSETS = new Set(['utf-8', 'utf8', 'us-ascii']);

/** Throws 415 when a `Content-Type` names another charset than UTF-8. */
export function checkCharset(contentType: string): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType)?.[1]?.toLowerCase();
  if (charset === undefined || CHARSETS.has(charset)) return;
  throw new Problem('unsupported_media_type', 'Send text in UTF-8.');
}

/**
 * Content codings that a route may accept: `gzip` (RFC 9110, section 8.4.1.3), and `base64` (RFC 4648, section 4) for
 * clients that can send only text.
 */
export type ContentCoding = 'gzip' | 'base64';

/**
 * Returns the codings of a `Content-Encoding` header, in the order in which they were applied (RFC 9110, section 8.4).
 * Throws 415 `unsupported_content_encoding`, with `Accept-Encoding`, when a coding is not allowed or appears twice.
 */
export function codingsOf(header: string | undefined, allowed: readonly ContentCoding[]): ContentCoding[] {
  const named = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
    .map((name) => (name === 'x-gzip' ? 'gzip' : name)); // an alias, RFC 9110, section 8.4.1.3
  const codings = named.filter((name): name is ContentCoding =>
    (allowed as readonly string[]).includes(name),
  );
  if (codings.length < named.length || new Set(codings).size < codings.length) throw unsupported(allowed);
  return codings;
}

function unsupported(allowed: readonly ContentCoding[]): Problem {
  const accepted = [...allowed, 'identity'].join(', ');
  const detail =
    allowed.length === 0
      ? 'Send the body without a Content-Encoding.'
      : `Use only these content encodings, each at most once: ${accepted}.`;
  return new Problem('unsupported_content_encoding', detail, { headers: { 'Accept-Encoding': accepted } });
}
