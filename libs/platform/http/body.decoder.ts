import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { formatBytes, Problem, problem } from '#platform/problem';
import type { ContentCoding } from './content-headers';

type Chunks = AsyncIterable<Buffer>;

/** Bytes inflated at a time. Larger chunks leave more garbage behind when many bodies are decoded at once. */
const CHUNK_BYTES = 8 * 1024;

/**
 * Decodes a body as a stream, the last coding first, in memory that does not depend on its size. Throws 413
 * `compressed_payload_too_large` as soon as the output exceeds `limit` bytes, 400 `invalid_request` for gzip data that is
 * corrupt or incomplete, and 400 `invalid_base64`.
 *
 * @param codings in the order in which they were applied
 */
export function decode(
  body: Chunks | Iterable<Buffer>,
  codings: readonly ContentCoding[],
  limit: number,
): Chunks {
  let chunks = body as Chunks;
  for (let left = codings.length - 1; left >= 0; left--) {
    // the data between two codings has a limit too, because line breaks in base64 decode to nothing
    const bytes = left === 0 ? limit : encodedLimit(limit, codings);
    chunks = limitSize(DECODERS[codings[left]!](chunks), bytes, limit);
  }
  return chunks;
}

/** Largest encoded body, in bytes, that may decode to `limit` bytes: base64 adds a third, and line breaks. */
export const encodedLimit = (limit: number, codings: readonly ContentCoding[]): number =>
  codings.includes('base64') ? Math.ceil((limit * 3) / 2) : limit;

async function* limitSize(chunks: Chunks, bytes: number, limit: number): Chunks {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > bytes) {
      const detail = `The body exceeds ${formatBytes(limit)} after decoding. Send a smaller one.`;
      throw new Problem('compressed_payload_too_large', detail);
    }
    yield chunk;
  }
}

const DECODERS: Record<ContentCoding, (chunks: Chunks) => Chunks> = { gzip: gunzip, base64: fromBase64 };

async function* gunzip(chunks: Chunks): Chunks {
  try {
    // the iteration throws the error that ends the pipeline
    yield* pipeline(chunks, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined) as Chunks;
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error;
    throw problem.invalidRequest('The body is not valid gzip data, or it is truncated.', { cause: error });
  }
}

const LINE_BREAKS = /[\r\n]+/g;

async function* fromBase64(chunks: Chunks): Chunks {
  let rest = '';
  let isPadded = false;
  for await (const chunk of chunks) {
    const text = rest + chunk.toString('latin1').replace(LINE_BREAKS, '');
    if (text === '') continue;
    if (isPadded) throw invalidBase64();
    const whole = text.length - (text.length % 4);
    rest = text.slice(whole);
    isPadded = text.endsWith('=', whole);
    const bytes = fromQuads(text.slice(0, whole));
    if (!bytes) throw invalidBase64();
    yield bytes;
  }
  if (rest !== '') throw invalidBase64();
}

/**
 * Returns the bytes of a file in a JSON body. Errors: 400 `invalid_base64`.
 *
 * @param pointer of the file
 */
export function contentBytes(
  { content, encoding }: { content: string; encoding?: string | null | undefined },
  pointer: string,
): Buffer {
  if (encoding !== 'base64') return Buffer.from(content);
  const bytes = fromQuads(content.replace(LINE_BREAKS, ''));
  if (bytes) return bytes;
  const place = `${pointer}/content`;
  const detail = 'must be base64 with padding (RFC 4648, section 4)';
  throw new Problem('invalid_base64', `${place} ${detail}.`, { errors: [{ pointer: place, detail }] });
}

/**
 * Returns undefined for a text that is not base64 with padding. Encodes the bytes again to compare them, because Node skips
 * characters that are not base64.
 */
function fromQuads(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

const invalidBase64 = (): Problem =>
  new Problem(
    'invalid_base64',
    'The body is not valid base64 (RFC 4648, section 4). Use the standard alphabet with "=" padding. Line breaks are allowed.',
  );
