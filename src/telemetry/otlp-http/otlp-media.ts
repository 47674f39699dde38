import type { IncomingMessage } from 'node:http';
import type { OtlpEncoding } from '#otlp';
import { mediaTypeOf } from '#platform/http';

export const PROTOBUF_MEDIA = 'application/x-protobuf';
export const JSON_MEDIA = 'application/json';

/** The media types of OTLP/HTTP. An answer has the one of its request. */
export const OTLP_MEDIA: readonly string[] = [PROTOBUF_MEDIA, JSON_MEDIA];

export const mediaOf = (encoding: OtlpEncoding): string =>
  encoding === 'protobuf' ? PROTOBUF_MEDIA : JSON_MEDIA;

/** The encoding that a request's media type names; JSON where it is none of OTLP's, which is told in JSON. */
export const otlpEncodingOf = (request: Pick<IncomingMessage, 'headers'>): OtlpEncoding =>
  mediaTypeOf(request) === PROTOBUF_MEDIA ? 'protobuf' : 'json';
