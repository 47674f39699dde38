import type { IncomingMessage } from 'node:http';
import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { encodeExportResponse, type OtlpEncoding, type OtlpRejection, type OtlpSignal } from '#otlp';
import {
  ApiBodies,
  mediaTypeOf,
  Reply,
  RequestBody,
  type BudgetRule,
  type ServiceRequest,
} from '#platform/http';
import { RateLimited } from '#platform/rate-limit';

export const PROTOBUF_MEDIA = 'application/x-protobuf';
const JSON_MEDIA = 'application/json';

/** The media types of OTLP/HTTP. A response has the media type of its request. */
const OTLP_MEDIA: readonly string[] = [PROTOBUF_MEDIA, JSON_MEDIA];

/** Returns the encoding of a request. Media types other than protobuf's count as JSON, so that errors are sent as JSON. */
export const otlpEncodingOf = (request: Pick<IncomingMessage, 'headers'>): OtlpEncoding =>
  mediaTypeOf(request) === PROTOBUF_MEDIA ? 'protobuf' : 'json';

/** The decompressed body of an export. */
export interface OtlpBody {
  bytes: Buffer;
  encoding: OtlpEncoding;
  /** Identifies the repeats of a request with an idempotency key. */
  repeatId?: string | undefined;
}

const BINARY = { schema: { type: 'string', format: 'binary' } };
const PROBLEM = { schema: { $ref: getSchemaPath('ProblemDto') } };

/** Byte budget of all exports together, from receiving the headers until the export is stored. */
export const EXPORT_BUDGET: BudgetRule = {
  name: 'telemetry',
  bytes: (environment) => environment.TELEMETRY_QUEUE_BYTES,
  detail: 'The service is receiving more telemetry than it can store right now. Try again later.',
};

/** Error responses, in the encoding of the request. */
const ERRORS = [400, 401, 403, 408, 409, 413, 415, 422, 429, 500, 503, 504];

/**
 * Declares an OTLP/HTTP export route. The body is protobuf or JSON, plain or gzip, and has at most `TELEMETRY_LIMIT_BYTES`
 * bytes, both before and after decompression.
 *
 * @param message name of the OTLP message in the body
 * @param response the response in JSON
 */
export const AcceptsOtlp = (message: string, response: new () => object) =>
  applyDecorators(
    RateLimited('telemetry'),
    RequestBody({
      media: OTLP_MEDIA,
      codings: ['gzip'],
      limit: (environment) => environment.TELEMETRY_LIMIT_BYTES,
      budget: EXPORT_BUDGET,
    }),
    ApiBodies({
      [JSON_MEDIA]: {
        type: 'object',
        additionalProperties: true,
        description: `An OTLP ${message} in its JSON mapping, plain or gzip.`,
      },
      [PROTOBUF_MEDIA]: { ...BINARY.schema, description: `An OTLP ${message}, plain or gzip.` },
    }),
    ApiExtraModels(response),
    ApiOkResponse({
      description: 'The data is stored and can be read. The response has the encoding of the request.',
      content: { [JSON_MEDIA]: { schema: { $ref: getSchemaPath(response) } }, [PROTOBUF_MEDIA]: BINARY },
    }),
    ...ERRORS.map((status) =>
      ApiResponse({
        status,
        description: '',
        content: { 'application/problem+json': PROBLEM, [PROTOBUF_MEDIA]: BINARY },
      }),
    ),
  );

/** Injects the body of a route with `AcceptsOtlp`. */
export const OtlpContent = createParamDecorator((_: unknown, context: ExecutionContext): OtlpBody => {
  const request = context.switchToHttp().getRequest<ServiceRequest>();
  const { rawBody = Buffer.alloc(0), repeatId } = request;
  return { bytes: rawBody, encoding: otlpEncodingOf(request), repeatId };
});

/** Returns the response to a stored export, in the encoding of its request. */
export function exportReply({ encoding }: OtlpBody, signal: OtlpSignal, rejected: OtlpRejection): Reply {
  const type = encoding === 'protobuf' ? PROTOBUF_MEDIA : JSON_MEDIA;
  return new Reply(200, encodeExportResponse(encoding, signal, rejected), { 'Content-Type': type });
}
