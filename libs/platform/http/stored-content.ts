import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiResponse } from '@nestjs/swagger';
import { Problem, Throws } from '#platform/problem';
import { checkIfMatch, namesETag } from './conditions';
import { contentHeaders, etagOf, Reply } from './reply';
import type { ServiceRequest } from './request-context';
import { StreamedBody } from './streamed-body';

/** The part of a request that decides how much of a content is sent. */
export type RequestedContent = Pick<ServiceRequest, 'method' | 'headers'>;

/** Injects the part of the request that `storedContent` needs. */
export const ContentRequest = createParamDecorator(
  (_: unknown, context: ExecutionContext): RequestedContent => {
    const { method, headers } = context.switchToHttp().getRequest<ServiceRequest>();
    return { method, headers };
  },
);

/** Stored content, readable in whole or in part. */
export interface StoredContent {
  type: string;
  /** Name of the file that a browser saves. */
  filename: string;
  /** In bytes. */
  size: number;
  /** SHA-256 of the bytes, in hexadecimal. */
  sha256: string;
  /** Streams the bytes from `start` to `end`, both included, or all of them. A part is used until the next one is read. */
  read: (range?: { start: number; end: number }) => AsyncIterable<Buffer>;
}

/** Declares the responses of a route that returns `storedContent`. @param media the media type, if it is always the same */
export const SendsContent = (media = '*/*'): MethodDecorator => {
  const content = { [media]: { schema: { type: 'string', format: 'binary' } } };
  const headers = {
    'Repr-Digest': { description: 'SHA-256 of the complete content (RFC 9530).', schema: { type: 'string' } },
    'Content-Disposition': { description: 'The file name to save under.', schema: { type: 'string' } },
    'Accept-Ranges': { description: '`bytes`.', schema: { type: 'string' } },
  };
  return applyDecorators(
    Throws('range_not_satisfiable', 'storage_unavailable'),
    ApiHeader({
      name: 'Range',
      required: false,
      description:
        'One range of bytes, such as `bytes=0-1023`. For several ranges, the complete content is returned.',
    }),
    ApiHeader({
      name: 'If-Range',
      required: false,
      description:
        'The ETag of the content that the range belongs to. If it differs, the complete content is returned.',
    }),
    ApiHeader({
      name: 'If-Match',
      required: false,
      description: 'Returns 412 unless it names the ETag of the content.',
    }),
    ApiOkResponse({
      description: 'The content. A download that fails midway is aborted, so check its length or digest.',
      content,
      headers,
    }),
    ApiResponse({
      status: 206,
      description: 'The range of the content that `Range` names.',
      content,
      headers: {
        ...headers,
        'Content-Range': {
          description: 'The range and the size of the complete content.',
          schema: { type: 'string' },
        },
      },
    }),
    ApiResponse({ status: 412, description: '`If-Match` does not name the ETag of the content.' }),
    ApiResponse({ status: 416, description: 'The range starts beyond the end of the content.' }),
  );
};

/**
 * Returns the reply to a GET or HEAD of stored content (RFC 9110, sections 13 and 14): 200 or 206, 304 when `If-None-Match`
 * names the ETag, 412 when `If-Match` does not, 416 for a range beyond the end. Only a single range of bytes is served. For
 * several ranges, or an `If-Range` with another ETag, returns the complete content. Reads the first bytes before the
 * response starts, so that a failing storage becomes a problem. A later failure closes the connection.
 */
export async function storedContent(
  { method, headers }: RequestedContent,
  content: StoredContent,
): Promise<Reply> {
  const { size, sha256 } = content;
  const etag = etagOf(sha256);
  checkIfMatch(headers['if-match'], sha256);
  if (namesETag(headers['if-none-match'], etag)) return new Reply(304, undefined, { ETag: etag });
  const range = method === 'GET' ? rangeOf(headers, etag, size) : null;
  const length = range ? range.end - range.start + 1 : size;
  const sent = { ...contentHeaders({ ...content, length }), 'Accept-Ranges': 'bytes' };
  if (method === 'HEAD') return new Reply(200, undefined, sent);
  if (!range) return new Reply(200, await StreamedBody.begin(content.read()), sent);
  return new Reply(206, await StreamedBody.begin(content.read(range)), {
    ...sent,
    'Content-Range': `bytes ${range.start}-${range.end}/${size}`,
  });
}

/** Names of units may be in upper case, and blanks may surround a range (RFC 9110, sections 5.6.1 and 14.1). */
const SINGLE_RANGE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/** Returns the range to send, or null for the complete content. Throws 416. */
function rangeOf(
  { range, 'if-range': ifRange }: ServiceRequest['headers'],
  etag: string,
  size: number,
): { start: number; end: number } | null {
  // a date never matches, because there is no Last-Modified
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return null;
  const [, first, last, suffix] = SINGLE_RANGE.exec(range) ?? [];
  if (first === undefined && suffix === undefined) return null;
  const start = first === undefined ? Math.max(size - Number(suffix), 0) : Number(first);
  const end = last ? Math.min(Number(last), size - 1) : size - 1;
  if (last && Number(last) < start) return null;
  if (start > end) {
    throw new Problem(
      'range_not_satisfiable',
      `The content has ${size} bytes. Request a range within them.`,
      {
        headers: { 'Content-Range': `bytes */${size}` },
      },
    );
  }
  return { start, end };
}
