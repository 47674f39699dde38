import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiExtension, ApiHeader } from '@nestjs/swagger';
import type { Environment } from '#platform/config';
import type { BudgetRule } from './body-budgets';
import type { ContentCoding } from './content-headers';
import type { IncomingRequest } from './incoming-request';
import type { ServiceRequest } from './request-context';

/**
 * `buffered`: read into memory, and parsed as JSON if the handler has a parameter with `@Body()`; otherwise the handler gets
 * the bytes as `rawBody`. `streamed`: the handler reads the body as it arrives, from `@IncomingBody()`.
 */
export type BodyKind = 'buffered' | 'streamed';

export interface BodyRule {
  /** Default: `buffered`. */
  kind?: BodyKind;
  /**
   * Largest body, in bytes, as it arrives and after decoding. A function also gets the media type, in lower case.
   * Default: `BODY_LIMIT_BYTES`.
   */
  limit?: number | ((environment: Environment, media: string) => number);
  /** Media types, in lower case and without parameters. Text must be UTF-8. Default: any, or JSON if it is parsed. */
  media?: readonly string[];
  /** Codings to decode. Default: gzip for buffered bodies, and for streamed ones that are JSON. */
  codings?: readonly ContentCoding[];
  /** The budget that a buffered body takes memory from until the response is sent. Default: `MEMORY_BUDGET`. */
  budget?: BudgetRule;
  /** The body may be absent, which counts as `{}`. */
  optional?: boolean;
}

export const BODY_RULE = 'http:body';

/** Largest body of a route that only selects (searches, statistics, gates), in bytes. */
export const SELECTION_MAX_BYTES = 64 * 1024;

/** Extension that carries a fixed limit to the OpenAPI document, which describes it. */
export const LIMIT_EXTENSION = 'x-body-limit';

/** The parts of a body rule that decide which problems a route can return. */
export interface BodyTraits {
  codings: readonly ContentCoding[];
  /** Whether the media type is checked. */
  checksMedia: boolean;
}

/** Extension that carries the traits of a body to the OpenAPI document, which does not show them. */
export const BODY_EXTENSION = 'x-body-traits';

/** The media type of JSON bodies. */
export const JSON_TYPE = 'application/json';

const GZIP: readonly ContentCoding[] = ['gzip'];

/** Returns the codings that a body of this media type may have. */
export function allowedCodings(rule: BodyRule, type = JSON_TYPE): readonly ContentCoding[] {
  const isJson = type === JSON_TYPE && rule.media?.includes(type) === true;
  return rule.codings ?? (rule.kind !== 'streamed' || isJson ? GZIP : []);
}

const traitsOf = (rule: BodyRule): BodyTraits => ({
  codings: allowedCodings(rule),
  checksMedia: rule.kind !== 'streamed' || rule.media !== undefined,
});

/** The traits of a required JSON body. */
export const JSON_BODY: BodyTraits = traitsOf({});

/** Declares how to read the body of a route, unless it is required JSON. */
export const RequestBody = (rule: BodyRule) =>
  applyDecorators(
    SetMetadata(BODY_RULE, rule),
    ApiExtension(BODY_EXTENSION, traitsOf(rule)),
    ...(rule.codings ? [ApiHeader(contentEncoding(rule.codings))] : []),
    ...(typeof rule.limit === 'number' ? [ApiExtension(LIMIT_EXTENSION, rule.limit)] : []),
  );

/** Returns the parameter of an OpenAPI document for bodies with these codings. */
export const contentEncoding = (codings: readonly ContentCoding[]) => ({
  name: 'Content-Encoding',
  in: 'header',
  required: false,
  schema: { type: 'string' as const },
  description: `How the body is encoded: ${codings.map((coding) => `\`${coding}\``).join(', ')}${codings.length > 1 ? ', or both, in the order in which you applied them' : ''}. Other encodings return 415 \`unsupported_content_encoding\`. A body that is too large after decoding returns 413 \`compressed_payload_too_large\`.${codings.includes('base64') ? ' Invalid base64 (RFC 4648, section 4; line breaks are allowed) returns 400 `invalid_base64`.' : ''}`,
});

/** Injects the body of a route with `@RequestBody({ kind: 'streamed' })`. */
export const IncomingBody = createParamDecorator((_: unknown, context: ExecutionContext): IncomingRequest => {
  const { incoming } = context.switchToHttp().getRequest<ServiceRequest>();
  if (!incoming) throw new Error("The route lacks @RequestBody({ kind: 'streamed' }).");
  return incoming;
});

/** Extension that carries `@ApiBodies()` to the OpenAPI document, which does not show it. */
export const BODIES_EXTENSION = 'x-bodies';

/** Adds a schema for each media type of a route's body to the OpenAPI document. */
export const ApiBodies = (schemas: Record<string, object>): MethodDecorator =>
  ApiExtension(BODIES_EXTENSION, schemas);

/** Extension that carries `@ApiSchemas()` to the OpenAPI document, which does not show it. */
export const SCHEMAS_EXTENSION = 'x-schemas';

/** Adds schemas that no class describes to the components of the OpenAPI document, by their names. */
export const ApiSchemas = (schemas: Record<string, object>): MethodDecorator =>
  ApiExtension(SCHEMAS_EXTENSION, schemas);
