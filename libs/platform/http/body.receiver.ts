import { createHash } from 'node:crypto';
import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { Problem, problem } from '#platform/problem';
import { BODY_RULE, type BodyRule, JSON_CODINGS, JSON_TYPE } from './body.decorator';
import { BodyBudgets } from './body-budgets';
import { decode } from './body.decoder';
import { receiveBody } from './body.reader';
import { checkCharset, codingsOf, mediaTypeOf } from './content-headers';
import { parseBody } from './json-body';
import { IncomingBytes } from './incoming-bytes';
import type { Constructor } from './members';
import { checkMedia, RequestBytes } from './request-bytes';
import type { ServiceRequest } from './request-context';
import { SpooledFile } from './spooled-file';

/** `application/json` or a merge patch (RFC 7396), with no other parameter than a UTF-8 charset. */
const JSON_MEDIA = /^application\/(merge-patch\+)?json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;

/**
 * Reads and parses the body after the guards, so that only authorized callers can send one. Checks in this order: 415 for
 * the encoding, 415 for the media type, 413 for the size, 400 for invalid JSON.
 */
@Injectable()
export class BodyReceiver {
  /** By handler. Null for a handler without a body. */
  private readonly rules = new WeakMap<object, HandlerBody | null>();

  constructor(
    private readonly reflector: Reflector,
    private readonly bytes: RequestBytes,
    private readonly budgets: BodyBudgets,
  ) {}

  /** Reads the body of a request. Returns nothing for a request without a body, or whose handler reads it. */
  receive(context: ExecutionContext, request: ServiceRequest, response: Response): Promise<void> | undefined {
    const body = this.bodyOf(context);
    if (body?.rule.kind !== 'stream') return body ? this.read(request, response, body) : undefined;
    this.admit(request, body.rule);
    return undefined;
  }

  private async read(
    request: ServiceRequest,
    response: Response,
    { rule, type }: HandlerBody,
  ): Promise<void> {
    if (rule.kind === 'file') return this.spool(request, response, rule);
    if (rule.kind === 'json') return this.readJson(request, response, rule, type);
    request.rawBody = await this.bytes.read(request, response, rule);
  }

  private async readJson(
    request: ServiceRequest,
    response: Response,
    rule: BodyRule,
    type: Constructor | undefined,
  ): Promise<void> {
    const codings = codingsOf(request.headers['content-encoding'], rule.codings ?? JSON_CODINGS);
    const isEmpty = request.headers['content-length'] === '0' || !hasBody(request);
    if (isEmpty && rule.optional === true) {
      request.body = {};
      return;
    }
    const media = request.headers['content-type'] ?? '';
    if (!isEmpty && !JSON_MEDIA.test(media)) {
      checkCharset(media);
      throw new Problem('unsupported_media_type', 'Send the body as application/json.');
    }
    const bytes = await this.bytes.readDecoded(request, response, rule, codings);
    request.bodyReadAt = performance.now();
    if (bytes.length === 0) throw problem.invalidRequest('A JSON body is required.');
    if (request.headers['idempotency-key'] !== undefined) request.bodySha256 = sha256(bytes);
    request.body = parseBody(bytes, type, request.lease);
  }

  /** Writes the body to a file, which is closed with the response, even after a 504 or when the client has disconnected. */
  private async spool(request: ServiceRequest, response: Response, rule: BodyRule): Promise<void> {
    const accepted = mediaTypeOf(request) === JSON_TYPE ? JSON_CODINGS : [];
    const codings = codingsOf(request.headers['content-encoding'], accepted);
    checkMedia(request, rule);
    checkCharset(request.headers['content-type'] ?? '');
    const file = await SpooledFile.create(this.budgets.spool.acquire(request.user?.orgId ?? ''));
    request.bodyFile = file;
    const close = (): void => void file.close();
    if (response.closed || response.destroyed) close();
    else response.once('close', close);
    const limit = this.bytes.limitOf(request, rule);
    for await (const chunk of decode(receiveBody(request, limit), codings, limit)) await file.append(chunk);
    file.finish();
  }

  /** Leaves the body to the handler. */
  private admit(request: ServiceRequest, rule: BodyRule): void {
    codingsOf(request.headers['content-encoding'], []);
    checkMedia(request, rule);
    request.incoming = new IncomingBytes(
      request.headers,
      receiveBody(request, this.bytes.limitOf(request, rule)),
    );
  }

  private bodyOf(context: ExecutionContext): HandlerBody | null {
    const handler = context.getHandler();
    let body = this.rules.get(handler);
    if (body === undefined) {
      const declared = this.reflector.get<BodyRule | undefined>(BODY_RULE, handler);
      const [parameter] = parametersOf(context, 'body');
      const rule = declared ?? (parameter ? { kind: 'json' as const } : undefined);
      body = rule ? { rule, type: parameter && typeOf(context, parameter.index) } : null;
      this.rules.set(handler, body);
    }
    return body;
  }
}

/** How to read the body of a handler, and the DTO that it is validated against. */
interface HandlerBody {
  rule: BodyRule;
  type: Constructor | undefined;
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

const hasBody = ({ headers }: ServiceRequest): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
