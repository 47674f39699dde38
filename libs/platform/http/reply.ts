import { attachment } from './attachment';
import type { StreamedBody } from './streamed-body';

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

/** 200 with a resource that has a version or generation. */
export const versioned = (view: unknown, version: number): Reply =>
  new Reply(200, view, { ETag: etagOf(version) });

/** What is said of bytes that are answered as they are made. */
export interface StreamedContent {
  /** The media type, with its parameters. */
  type: string;
  /** The name that they are saved under; any text. */
  fileName: string;
  /** Names this state of what is answered: a version's ETag, or that of `sha256`. */
  etag?: string;
  /** Bytes, where that is known beforehand. */
  length?: number;
  /** SHA-256 of the bytes, in hexadecimal: makes a strong ETag and a `Repr-Digest` (RFC 9530). */
  sha256?: string;
}

/** 200 with bytes that are to be kept as a file. */
export function streamed(body: StreamedBody, content: StreamedContent): Reply {
  const { type, fileName, etag, length, sha256 } = content;
  return new Reply(200, body, {
    'Content-Type': type,
    'Content-Disposition': attachment(fileName),
    ...(etag !== undefined && { ETag: etag }),
    ...(length !== undefined && { 'Content-Length': String(length) }),
    ...(sha256 !== undefined && {
      ETag: `"${sha256}"`,
      'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    }),
  });
}
