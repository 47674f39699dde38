import { createHash } from 'node:crypto';
import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { isJsonObject } from '#platform/json';
import { type Problem, problem } from '#platform/problem';
import { BODY_RULE, type BodyRule, JSON_TYPE } from './body.decorator';
import { parseBody } from './json-body';
import type { Constructor } from './members';
import { RequestBytes } from './request-bytes';
import type { ServiceRequest } from './request-context';
import { shapeOf } from './validation';

/** JSON, or a merge patch (RFC 7396). */
const JSON_MEDIA: readonly string[] = [JSON_TYPE, 'application/merge-patch+json'];

/**
 * Reads and parses the body after the admission, so that only authorized callers can send one. Checks in this order: 415 for
 * the encoding, 415 for the media type, 413 for the size, 400 for invalid JSON.
 */
@Injectable()
export class BodyReceiver {
  /** By handler. Null for a handler without a body. */
  private readonly rules = new WeakMap<object, HandlerBody | null>();

  constructor(
    private readonly reflector: Reflector,
    private readonly bytes: RequestBytes,
  ) {}

  /** Reads the body of a request. Returns nothing for a request without a body, or whose handler reads it. */
  receive(context: ExecutionContext, request: ServiceRequest, response: Response): Promise<void> | undefined {
    const body = this.bodyOf(context);
    if (!body) return undefined;
    if (body.rule.kind !== 'streamed') return this.read(request, response, body);
    request.incoming = this.bytes.stream(request, response, body.rule);
    return undefined;
  }

  private async read(
    request: ServiceRequest,
    response: Response,
    { rule, type, isParsed }: HandlerBody,
  ): Promise<void> {
    if (!isParsed) {
      request.rawBody = await this.bytes.read(request, response, rule);
      return;
    }
    if (isEmpty(request)) {
      if (rule.optional !== true) throw noBody();
      request.body = {};
      return;
    }
    const bytes = await this.bytes.read(request, response, rule);
    request.bodyReadAt = performance.now();
    if (bytes.length === 0) throw noBody();
    if (request.headers['idempotency-key'] !== undefined) request.bodySha256 = sha256(bytes);
    const parsed = parseBody(bytes, type, request.lease);
    request.body = type ? withoutWorkspace(parsed, request, type) : parsed;
  }

  private bodyOf(context: ExecutionContext): HandlerBody | null {
    const handler = context.getHandler();
    let body = this.rules.get(handler);
    if (body === undefined) {
      const declared = this.reflector.get<BodyRule | undefined>(BODY_RULE, handler);
      const [parameter] = parametersOf(context, 'body');
      if (parameter) {
        const rule = { media: JSON_MEDIA, ...declared };
        body = { rule, type: typeOf(context, parameter.index), isParsed: true };
      } else {
        body = declared ? { rule: declared, type: undefined, isParsed: false } : null;
      }
      this.rules.set(handler, body);
    }
    return body;
  }
}

/** How to read the body of a handler, and the DTO that it is validated against. */
interface HandlerBody {
  rule: BodyRule;
  type: Constructor | undefined;
  isParsed: boolean;
}

const sha256 = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();

/** Returns the class of a parameter, if it is a DTO. */
function typeOf(context: ExecutionContext, index: number): Constructor | undefined {
  const prototype = context.getClass().prototype as object;
  const types = Reflect.getMetadata('design:paramtypes', prototype, context.getHandler().name) as unknown[];
  const type = types[index];
  return type === Object ? undefined : (type as Constructor);
}

/** Nest's numbers for the kinds of parameters of a handler (its enum `RouteParamtypes`). */
const PARAMETER_KINDS = { body: 3, query: 4 } as const;

/** Returns the parameters of a handler with `@Body()` or `@Query()`. */
export function parametersOf(
  context: ExecutionContext,
  kind: keyof typeof PARAMETER_KINDS,
): { index: number }[] {
  const parameters = Reflect.getMetadata(
    ROUTE_ARGS_METADATA,
    context.getClass(),
    context.getHandler().name,
  ) as Record<string, { index: number }> | undefined;
  return Object.entries(parameters ?? {})
    .filter(([key]) => key.startsWith(`${PARAMETER_KINDS[kind]}:`))
    .map(([, parameter]) => parameter);
}

/**
 * Removes the `workspace_id` from a body whose DTO does not declare it, so that every body of a route that requires a workspace
 * may name it. Errors: 400 for another workspace than the header's.
 */
function withoutWorkspace(body: unknown, { scope }: ServiceRequest, type: Constructor): unknown {
  if (!isJsonObject(body) || !Object.hasOwn(body, 'workspace_id')) return body;
  if (!scope || !('workspaceId' in scope) || shapeOf(type).members.has('workspace_id')) return body;
  const { workspace_id, ...others } = body;
  if (workspace_id === scope.workspaceId) return others;
  throw problem.invalidField('/workspace_id', 'must be the workspace that X-Service-Workspace-Id names');
}

const isEmpty = ({ headers }: ServiceRequest): boolean =>
  Number(headers['content-length'] ?? 0) === 0 && headers['transfer-encoding'] === undefined;

const noBody = (): Problem => problem.invalidRequest('A JSON body is required.');
