import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiExtraModels,
  ApiOkResponse,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import type { OtlpEncoding } from '#otlp';
import { checkCharset, RequestBody, type RoomRule, type ServiceRequest } from '#platform/http';
import { JSON_MEDIA, OTLP_MEDIA, otlpEncodingOf, PROTOBUF_MEDIA } from './otlp-media';

/** The body of an export, its content coding undone. */
export interface OtlpBody {
  bytes: Buffer;
  encoding: OtlpEncoding;
}

const BINARY = { schema: { type: 'string', format: 'binary' } };
const PROBLEM = { schema: { $ref: getSchemaPath('ProblemDto') } };

/** What all exports together may take of the memory, from when they are announced until they are stored. */
export const EXPORT_ROOM: RoomRule = {
  name: 'telemetry',
  bytes: (environment) => environment.TELEMETRY_QUEUE_BYTES,
  detail: 'More telemetry arrives than can be stored. Send it again later.',
};

/** Errors are told in the form of the request. What each means is the same as everywhere, but for 429. */
const REFUSALS: [status: number, description: string][] = [
  ...[400, 401, 403, 408, 409, 413, 415, 422, 500, 503, 504].map((status): [number, string] => [status, '']),
  [429, 'Too many requests; Retry-After says when to try again.'],
];

/**
 * On an export: how OTLP/HTTP bodies are read. Protobuf or JSON, gzip or plain, at most `TELEMETRY_LIMIT_BYTES` both
 * as it arrives and inflated.
 *
 * @param message name of the message of OTLP that it takes
 * @param answer what it answers in JSON
 */
export const TakesOtlp = (message: string, answer: new () => object) =>
  applyDecorators(
    RequestBody({
      kind: 'bytes',
      media: OTLP_MEDIA,
      codings: ['gzip'],
      limit: (environment) => environment.TELEMETRY_LIMIT_BYTES,
      room: EXPORT_ROOM,
    }),
    ApiConsumes(PROTOBUF_MEDIA, JSON_MEDIA),
    ApiBody({
      description: `An ${message} of OTLP, in protobuf or in its JSON mapping. gzip is taken.`,
      schema: {},
    }),
    ApiExtraModels(answer),
    ApiOkResponse({
      description: 'Stored, and to be read. In the encoding of the request.',
      content: { [JSON_MEDIA]: { schema: { $ref: getSchemaPath(answer) } }, [PROTOBUF_MEDIA]: BINARY },
    }),
    ...REFUSALS.map(([status, description]) =>
      ApiResponse({
        status,
        description,
        content: { 'application/problem+json': PROBLEM, [PROTOBUF_MEDIA]: BINARY },
      }),
    ),
  );

/** The body of a route that `TakesOtlp`. Error: 415 for JSON that says that it is not UTF-8. */
export const OtlpContent = createParamDecorator((_: unknown, context: ExecutionContext): OtlpBody => {
  const request = context.switchToHttp().getRequest<ServiceRequest>();
  const encoding = otlpEncodingOf(request);
  if (encoding === 'json') checkCharset(request.headers['content-type'] ?? '');
  return { bytes: request.rawBody ?? Buffer.alloc(0), encoding };
});
