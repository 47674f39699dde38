import { Problem } from '#platform/problem';

/**
 * Content codings that a route may take: `gzip` (RFC 9110, section 8.4.1.3), and `base64` (RFC 4648, section 4), for
 * senders that can carry text alone.
 */
export type ContentCoding = 'gzip' | 'base64';

/**
 * The codings that a `Content-Encoding` names, in the order in which they were applied (RFC 9110, section 8.4). Errors:
 * 415 `unsupported_content_encoding`, with those allowed in `Accept-Encoding`, for one that is not, or that comes twice.
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
      : `Send the body in one of these codings, or in several, each once: ${accepted}.`;
  return new Problem('unsupported_content_encoding', detail, { headers: { 'Accept-Encoding': accepted } });
}
