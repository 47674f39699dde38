import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Problem, problem } from '#platform/problem';

/** Content codings (RFC 9110, section 8.4.1) that a route may take. */
export type ContentCoding = 'gzip';

const inflate = promisify(gunzip);

/**
 * The codings that a `Content-Encoding` names, in the order in which they were applied. Errors: 415
 * `unsupported_content_encoding`, with those allowed in `Accept-Encoding`, for one that is not, or that comes twice.
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
  if (codings.length < named.length || new Set(codings).size < codings.length) {
    const accepted = [...allowed, 'identity'].join(', ');
    throw new Problem('unsupported_content_encoding', `Send the body in one of these codings: ${accepted}.`, {
      headers: { 'Accept-Encoding': accepted },
    });
  }
  return codings;
}

/**
 * Undoes the codings of a body, the last applied first. Errors: 413 `compressed_payload_too_large` as soon as the
 * output passes `limit` bytes, so that a small body cannot fill the memory; 400 for a body that is corrupt or cut off.
 */
export async function undoCodings(
  body: Buffer,
  codings: readonly ContentCoding[],
  limit: number,
): Promise<Buffer> {
  let bytes = body;
  for (const coding of [...codings].reverse()) bytes = await DECODERS[coding](bytes, limit);
  return bytes;
}

const DECODERS: Record<ContentCoding, (bytes: Buffer, limit: number) => Promise<Buffer>> = {
  gzip: async (bytes, limit) => {
    try {
      return await inflate(bytes, { maxOutputLength: limit });
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') {
        throw new Problem('compressed_payload_too_large', `The body may inflate to at most ${limit} bytes.`);
      }
      throw problem.invalidRequest('The body is not complete gzip data.', { cause: error });
    }
  },
};
