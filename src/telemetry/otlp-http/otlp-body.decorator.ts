import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiBody, ApiConsumes } from '@nestjs/swagger';
import type { OtlpEncoding } from '#otlp';
import { NotRepeatable, RequestBody, type ServiceRequest } from '#platform/http';
import { JSON_MEDIA, OTLP_MEDIA, otlpEncodingOf, PROTOBUF_MEDIA } from './otlp-media';

/** The body of an export, its content coding undone. */
export interface OtlpBody {
  bytes: Buffer;
  encoding: OtlpEncoding;
}

/**
 * On an export: how OTLP/HTTP bodies are read. Protobuf or JSON, gzip or plain, at most `TELEMETRY_LIMIT_BYTES` both
 * as it arrives and inflated. Nothing is kept for `Idempotency-Key`: every repeat of an export is harmless.
 */
export const TakesOtlp = (message: string) =>
  applyDecorators(
    RequestBody({
      kind: 'bytes',
      media: OTLP_MEDIA,
      codings: ['gzip'],
      limit: (environment) => environment.TELEMETRY_LIMIT_BYTES,
    }),
    NotRepeatable(),
    ApiConsumes(PROTOBUF_MEDIA, JSON_MEDIA),
    ApiBody({
      description: `An ${message} of OTLP, as protobuf or in its JSON mapping; gzip is taken.`,
      schema: { type: 'object', additionalProperties: true },
    }),
  );

/** The body of a route that `TakesOtlp`. */
export const OtlpContent = createParamDecorator((_: unknown, context: ExecutionContext): OtlpBody => {
  const request = context.switchToHttp().getRequest<ServiceRequest>();
  return { bytes: request.rawBody ?? Buffer.alloc(0), encoding: otlpEncodingOf(request) };
});
