import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiExtension, ApiHeader } from '@nestjs/swagger';
import type { Environment } from '#platform/config';
import type { BudgetRule } from './body-budgets';
import type { ContentCoding } from './content-headers';
import type { IncomingRequest } from './incoming-bytes';
import type { ServiceRequest } from './request-context';
import type { SpooledFile } from './spooled-file';

export type BodyKind = 'json' | 'bytes' | 'file' | 'stream';

export interface BodyRule {
  /**
   * `json`: read and parsed; the default for a handler with a body parameter. `bytes`: read whole into `rawBody`, not
   * parsed. `file`: written to a temporary file and hashed as it arrives; the handler gets it from `@SpooledBody()`.
   * `stream`: the handler reads it as it arrives, from `@IncomingBody()`, so it is not buffered. For bodies that the
   * handler stores itself.
   */
  kind: BodyKind;
  /**
   * Largest body, in bytes, as it arrives and after decoding. A function also gets the media type, in lower case.
   * Default: `BODY_LIMIT_BYTES`.
   */
  limit?: number | ((environment: Environment, media: string) => number);
  /** Media types that `bytes` and `file` accept, in lower case and without parameters. Default: any. */
  media?: readonly string[];
  /** Codings to decode. Default: gzip for `json`, and for a `file` that is JSON; none for `bytes`, which then get the body as sent. */
  codings?: readonly ContentCoding[];
  /** The budget that `json` and `bytes` take memory from until the response is sent. Default: `MEMORY_BUDGET`. */
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
  kind: BodyKind;
  codings: readonly ContentCoding[];
  /** Whether the media type is checked. */
  checksMedia: boolean;
}

/** Codings that a JSON body may have. */
export const JSON_CODINGS: readonly ContentCoding[] = ['gzip'];

/** Extension that carries the traits of a body to the OpenAPI document, which does not show them. */
export const BODY_EXTENSION = 'x-body-traits';

/** The media type of JSON bodies. */
export const JSON_TYPE = 'application/json';

function traitsOf({ kind, codings, media }: BodyRule): BodyTraits {
  const canBeJson = kind === 'json' || (kind === 'file' && media?.includes(JSON_TYPE) === true);
  return {
    kind,
    codings: codings ?? (canBeJson ? JSON_CODINGS : []),
    checksMedia: kind === 'json' || media !== undefined,
  };
}

/** The traits of a required JSON body. */
export const JSON_BODY: BodyTraits = traitsOf({ kind: 'json' });

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

/** A body in a temporary file. */
export interface SpooledRequest {
  /** Closed when the response has been sent. */
  file: SpooledFile;
  /** The `Content-Type` as sent, with its parameters. */
  contentType: string;
}

/** Injects the body of a route with `@RequestBody({ kind: 'file' })`. */
export const SpooledBody = createParamDecorator((_: unknown, context: ExecutionContext): SpooledRequest => {
  const { bodyFile, headers } = context.switchToHttp().getRequest<ServiceRequest>();
  if (!bodyFile) throw new Error("The route lacks @RequestBody({ kind: 'file' }).");
  return { file: bodyFile, contentType: headers['content-type'] ?? '' };
});

/** Injects the body of a route with `@RequestBody({ kind: 'stream' })`. */
export const IncomingBody = createParamDecorator((_: unknown, context: ExecutionContext): IncomingRequest => {
  const { incoming } = context.switchToHttp().getRequest<ServiceRequest>();
  if (!incoming) throw new Error("The route lacks @RequestBody({ kind: 'stream' }).");
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
