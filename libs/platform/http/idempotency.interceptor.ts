import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import type { Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import type { Principal } from '#platform/auth';
import { RawJson, toJsonText } from '#platform/json';
import { rootLogger } from '#platform/logging';
import { problem } from '#platform/problem';
import { type IdempotencyClaim, IdempotencyStore, type KeptAnswer } from './idempotency.store';
import { mediaTypeOf } from './media-type';
import { Reply } from './reply';
import { routeOf, type ServiceRequest } from './request-context';

const NOT_REPEATABLE = 'http:not-repeatable';
const WITHIN_REACH = 'http:repeatable-within-reach';
/** How the OpenAPI document is told, which does not show it. */
export const NOT_REPEATABLE_EXTENSION = 'x-not-repeatable';
const KEEP_ATTEMPTS = 5;
const KEEP_PAUSE_MS = 200;
const KEY_FORM = /^[\x21-\x7e]{1,255}$/;

/** On routes whose answers are secrets and must not be kept: the making of keys and tokens. */
export const NotRepeatable = () =>
  applyDecorators(SetMetadata(NOT_REPEATABLE, true), ApiExtension(NOT_REPEATABLE_EXTENSION, true));

/**
 * On routes that answer what lies in any workspace that the caller may read: an answer is replayed for as long as they
 * hold the same roles in the same workspaces, and made anew after that.
 */
export const RepeatableWithinReach = () => SetMetadata(WITHIN_REACH, true);

/**
 * `Idempotency-Key` on POST and PATCH: a repeat by the same principal on the same path replays the first 2xx answer
 * with `Idempotency-Replayed: true`; with another body it is 422, while the first is under way 409.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly store: IdempotencyStore,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<ServiceRequest>();
    const key = request.headers['idempotency-key'];
    const applies = request.user !== undefined && (request.method === 'POST' || request.method === 'PATCH');
    if (
      key === undefined ||
      !applies ||
      this.reflector.get<boolean | undefined>(NOT_REPEATABLE, context.getHandler())
    ) {
      return next.handle();
    }
    if (typeof key !== 'string' || !KEY_FORM.test(key)) {
      throw problem.invalidHeader('Idempotency-Key', 'send one key of 1 to 255 visible ASCII characters');
    }
    const isWithinReach = this.reflector.get<boolean | undefined>(WITHIN_REACH, context.getHandler());
    const reach = isWithinReach && request.user ? reachOf(request.user) : null;
    return from(this.run(claimOf(request, key, reach), http.getResponse<Response>(), next));
  }

  private async run(claim: IdempotencyClaim, response: Response, next: CallHandler): Promise<unknown> {
    const outcome = await this.store.claim(claim);
    if (outcome.kind === 'busy')
      throw problem.conflict('The first request with this Idempotency-Key is still under way.');
    if (outcome.kind === 'other_body') {
      throw problem.validationFailed('This Idempotency-Key was used with another body.');
    }
    if (outcome.kind === 'answered') return replayed(outcome.answer);
    const renewal = setInterval(() => {
      this.store.renew(claim).catch((error: unknown) => unkept(error, 'a claim was not renewed'));
    }, this.store.renewalMs);
    try {
      return await this.handle(claim, response, next);
    } finally {
      clearInterval(renewal);
    }
  }

  private async handle(claim: IdempotencyClaim, response: Response, next: CallHandler): Promise<Reply> {
    let result: unknown;
    try {
      result = await lastValueFrom(next.handle());
    } catch (error) {
      await this.store.release(claim).catch((cause: unknown) => unkept(cause, 'a claim was not released'));
      throw error;
    }
    const reply = result instanceof Reply ? result : new Reply(response.statusCode, result);
    const body = Buffer.isBuffer(reply.body) ? reply.body : new RawJson(toJsonText(reply.body ?? null));
    await this.keep(claim, {
      status: reply.status,
      headers: reply.headers,
      body: Buffer.isBuffer(body) ? body : Buffer.from(body.text),
    });
    return new Reply(reply.status, body, reply.headers);
  }

  /** What was done is done, whatever becomes of its answer: it is tried for some time to keep it. */
  private async keep(claim: IdempotencyClaim, answer: KeptAnswer): Promise<void> {
    for (let attempt = 1; attempt <= KEEP_ATTEMPTS; attempt++) {
      try {
        return await this.store.keep(claim, answer);
      } catch (error) {
        unkept(error, 'a first answer was not kept');
        await sleep(KEEP_PAUSE_MS * attempt);
      }
    }
  }
}

const unkept = (error: unknown, message: string): void => rootLogger.error({ err: error }, message);

/** An answer with a media type of its own is bytes, every other one JSON. */
function replayed({ status, headers, body }: KeptAnswer): Reply {
  const isBytes = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  const sent = isBytes ? body : new RawJson(body.toString());
  return new Reply(status, sent, { ...headers, 'Idempotency-Replayed': 'true' });
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();

/** The roles of a principal, and where they hold. */
const reachOf = ({ roles, workspaceRoles, workspaceIds }: Principal): unknown[] => [
  [...roles].sort(),
  workspaceIds && [...workspaceIds].sort(),
  [...workspaceRoles].map(([workspaceId, held]) => [workspaceId, ...[...held].sort()].join(' ')).sort(),
];

function claimOf(request: ServiceRequest, key: string, reach: unknown): IdempotencyClaim {
  const { user, context, method, params } = request;
  // the ids of platform principals are their issuers'
  const issuer = user?.orgId === null && user.credential.kind === 'token' ? user.credential.issuer : null;
  // the operation and its object, however the path is spelt
  const identity = [
    issuer,
    user?.orgId,
    user?.id,
    context.workspaceId,
    method,
    routeOf(request),
    params,
    key,
    ...(reach ? [reach] : []),
  ];
  return {
    requestId: sha256(JSON.stringify(identity)),
    digest: digestOf(request),
    holder: randomUUID(),
  };
}

/** Of the body, and of what else says what is asked for: a query, and the media type of a body that has several. */
function digestOf(request: ServiceRequest): Buffer {
  const { bodyFile, rawBody, url } = request;
  const query = url.split('?', 2)[1] ?? '';
  if (bodyFile) return sha256(JSON.stringify([bodyFile.sha256, mediaTypeOf(request), query]));
  const ofBody = sha256(rawBody ?? '');
  return query === '' ? ofBody : sha256(JSON.stringify([ofBody.toString('hex'), query]));
}
