import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import { LoadingCache } from '#platform/concurrency';
import type { Environment } from '#platform/config';
import { knownBaseUrl } from './base-url';
import { checkIfMatch, namesETag } from './conditions';
import { StreamedBody } from './streamed-body';

const compress = promisify(gzip);

/** Smaller documents are not worth compressing, in bytes. */
const COMPRESSED_FROM = 1024;

/** Headers that describe content. A 304 omits them (RFC 9110, section 15.4.5). */
const CONTENT_HEADERS: ReadonlySet<string> = new Set(['Content-Type', 'Content-Encoding']);

interface Variant {
  readonly bytes: Buffer;
  readonly version: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * A document that is the same for every caller. Its bytes, their gzip variant and their ETags are computed once. A request
 * therefore costs no serializing, hashing, compression or copying, and responses that nobody reads share one buffer. A
 * handler may return it; middleware ends the response with `select`.
 */
export class CachedDocument {
  private constructor(
    private readonly plain: Variant,
    private readonly gzipped: Variant | null,
  ) {}

  /** @param headers further headers of each response, including a 304 */
  static async of(
    content: string | Buffer,
    type: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<CachedDocument> {
    const bytes = Buffer.from(content as string);
    const version = createHash('sha256').update(bytes).digest('base64url');
    const encoded = bytes.length > COMPRESSED_FROM ? await compress(bytes) : bytes;
    const isSmaller = encoded.length < bytes.length;
    const all = { ...headers, 'Content-Type': type, ...(isSmaller && { Vary: 'Accept-Encoding' }) };
    return new CachedDocument(
      { bytes, version, headers: all },
      isSmaller
        ? { bytes: encoded, version: `${version}-gzip`, headers: { ...all, 'Content-Encoding': 'gzip' } }
        : null,
    );
  }

  /** Sends the document, from middleware. */
  send(request: Request, response: Response): Promise<void> | void {
    const bytes = this.select(request, response);
    if (bytes) return StreamedBody.of(bytes).send(response);
    response.end();
  }

  /**
   * Sets the status and the headers of the response, and returns its bytes: none for a 304. Throws 412 if `If-Match` names
   * another ETag.
   */
  select(request: Pick<Request, 'headers' | 'acceptsEncodings'>, response: Response): Buffer | undefined {
    const isGzip = this.gzipped !== null && request.acceptsEncodings('gzip', 'identity') === 'gzip';
    const { bytes, version, headers } = isGzip ? this.gzipped! : this.plain;
    checkIfMatch(request.headers['if-match'], version);
    const etag = `"${version}"`;
    const isKnown = namesETag(request.headers['if-none-match'], etag);
    response.status(isKnown ? 304 : 200).setHeader('ETag', etag);
    for (const [name, value] of Object.entries(headers)) {
      // others may vary already, by Origin
      if (name === 'Vary') response.vary(value);
      else if (!isKnown || !CONTENT_HEADERS.has(name)) response.setHeader(name, value);
    }
    if (isKnown) return undefined;
    response.setHeader('Content-Length', bytes.length);
    return bytes;
  }
}

/** Maximum number of cached documents. A service has a few URLs, unless clients send arbitrary `Host` headers. */
const URLS_MAX = 100;

/** How long clients and proxies may cache a document that is the same for every `Host`. */
const SHARED = { 'Cache-Control': 'public, max-age=300' };
/** A cache could return the document of one `Host` to clients that use another. */
const OF_HOST = { 'Cache-Control': 'no-store' };

/** Documents that contain the URL of the service: one for each URL at which clients reach it. */
export class DocumentsByUrl {
  private readonly documents = new LoadingCache<CachedDocument>({ max: URLS_MAX, lifetimeMs: Infinity });

  /** @param contentOf returns the content for the URL of the service */
  constructor(
    private readonly environment: Pick<Environment, 'PUBLIC_URL'>,
    private readonly contentOf: (url: string) => object,
  ) {}

  /** Errors: 404 if the service does not know its URL, see `baseUrlOf`. */
  async for(request: Pick<Request, 'headers' | 'socket'>): Promise<CachedDocument> {
    const url = knownBaseUrl(this.environment, request);
    const headers = this.environment.PUBLIC_URL === undefined ? OF_HOST : SHARED;
    const { contentOf } = this;
    return this.documents.find(url, () =>
      CachedDocument.of(JSON.stringify(contentOf(url)), JSON_TYPE, headers),
    );
  }
}

const JSON_TYPE = 'application/json; charset=utf-8';
