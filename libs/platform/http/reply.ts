import { attachment } from './attachment';
import { StreamedBody } from './streamed-body';

/** An answer with a status or headers of its own; a handler that returns a view alone answers its default status. */
export class Reply {
  constructor(
    readonly status: number,
    readonly body: unknown,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}
}

/** A strong ETag of a version or generation: `"4"`. */
export const etagOf = (version: number): string => `"${version}"`;

/** 201 with the resource, its address (an absolute path) and, where it has one, its ETag. */
export const created = (location: string, view: unknown, version?: number): Reply =>
  new Reply(201, view, { Location: location, ...(version === undefined ? {} : { ETag: etagOf(version) }) });

/** A resource as it is answered, with the number its ETag is made of. */
export interface Versioned<View> {
  view: View;
  version: number;
}

/** 200 with a resource that has a version or generation. */
export const versioned = (view: unknown, version: number): Reply =>
  new Reply(200, view, { ETag: etagOf(version) });

/** What is said of bytes that are answered as they are read. */
export interface StreamedContent {
  type: string;
  /** Bytes, where that is known beforehand. */
  length?: number;
  /** The name that a browser saves it under. */
  filename: string;
  /** SHA-256 of the bytes, in hexadecimal: makes a strong ETag and a `Repr-Digest` (RFC 9530). */
  sha256?: string;
  /** The ETag, where there is no digest beforehand. */
  etag?: string;
}

/**
 * 200 with bytes that are read as they are sent, at the pace of the client, see `StreamedBody`. The first of them are
 * read before anything is answered, so that what cannot be read is told as a problem; an answer that fails later is
 * broken off, never ended as if it were complete.
 */
export async function streamed(
  bytes: AsyncIterable<Buffer>,
  { type, length, filename, sha256, etag }: StreamedContent,
): Promise<Reply> {
  return new Reply(200, await StreamedBody.begin(bytes), {
    'Content-Type': type,
    'Content-Disposition': attachment(filename),
    ...(length !== undefined && { 'Content-Length': String(length) }),
    ...(etag !== undefined && { ETag: etag }),
    ...(sha256 !== undefined && digestHeaders(sha256)),
  });
}

const digestHeaders = (sha256: string): Record<string, string> => ({
  ETag: `"${sha256}"`,
  'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
});
