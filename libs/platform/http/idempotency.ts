import { createHash, randomUUID } from 'node:crypto';
import { applyDecorators, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import type { Response } from 'express';
import { retry } from '#platform/concurrency';
import { isRead, rolesIn } from '#platform/scope';
import { RawJson, toJsonText } from '#platform/json';
import { rootLogger } from '#platform/logging';
import { problem } from '#platform/problem';
import {
  type ClaimOutcome,
  type IdempotencyClaim,
  IdempotencyRepository,
  type KeptAnswer,
} from './idempotency.repository';
import type { IncomingBytes } from './incoming-bytes';
import { mediaTypeOf } from './content-headers';
import { etagOf, Reply, Versioned } from './reply';
import { routeOf, type ServiceRequest } from './request-context';

export const NOT_REPEATABLE = 'http:not-repeatable';
/** Extension that carries `@NotRepeatable()` to the OpenAPI document, which does not show it. */
export const NOT_REPEATABLE_EXTENSION = 'x-not-repeatable';
const KEEP_ATTEMPTS = 5;
/** Bound of the first wait between them, in ms. */
const KEEP_DELAY_MS = 300;
/** Validates the parameters of a request and calls its handler. */
type Handler = () => Promise<unknown>;

const KEY_FORM = /^[\x21-\x7e]{1,255}$/;

/** Excludes routes whose answers are secrets, such as new keys and tokens, routes that pass requests on, and those that only read. */
export const NotRepeatable = () =>
  applyDecorators(SetMetadata(NOT_REPEATABLE, true), ApiExtension(NOT_REPEATABLE_EXTENSION, true));

/**
 * Implements `Idempotency-Key` on every POST and PATCH that writes. A repeat by the same principal on the same path replays
 * the first 2xx response with `Idempotency-Replayed: true`. A repeat with another body is 422, one during the first request
 * 409, and one by a caller who has lost the role in the workspace of the response 403. Operations that only read ignore the
 * header, because a repeat does no harm and their responses would fill the table.
 */
@Injectable()
export class Idempotency {
  constructor(
    private readonly reflector: Reflector,
    private readonly repository: IdempotencyRepository,
  ) {}

  /** Calls the handler of a request, or replays its stored response. */
  run(
    context: ExecutionContext,
    request: ServiceRequest,
    response: Response,
    handler: Handler,
  ): Promise<unknown> {
    const key = request.headers['idempotency-key'];
    const writes = (request.method === 'POST' || request.method === 'PATCH') && !isRead(request.rule);
    if (
      key === undefined ||
      request.user === undefined ||
      !writes ||
      this.reflector.get<boolean | undefined>(NOT_REPEATABLE, context.getHandler())
    ) {
      return handler();
    }
    if (typeof key !== 'string' || !KEY_FORM.test(key)) {
      throw problem.invalidHeader('Idempotency-Key', 'send one key of 1 to 255 visible ASCII characters');
    }
    return this.runOnce(request, claimOf(request, key), response, handler);
  }

  private async runOnce(
    request: ServiceRequest,
    claim: IdempotencyClaim,
    response: Response,
    handler: Handler,
  ): Promise<unknown> {
    const outcome = await this.claim(request, claim);
    if (outcome.kind === 'busy') {
      throw problem.conflict(
        'The first request with this Idempotency-Key is still running. Try again later.',
      );
    }
    if (outcome.kind === 'other_body') {
      throw problem.validationFailed('This Idempotency-Key was used with another body. Use a new key.');
    }
    if (outcome.kind === 'answered') {
      checkAccess(request, outcome.answer.workspaceId);
      return replayed(outcome.answer);
    }
    const renewal = setInterval(() => {
      this.repository.renew(claim).catch((error: unknown) => logFailure(error, 'a claim was not renewed'));
    }, this.repository.renewalMs);
    try {
      return await this.handle(request, claim, response, handler);
    } finally {
      clearInterval(renewal);
    }
  }

  /** Claims the key. Reads a body that arrives as a stream only if the key was used before. */
  private async claim(request: ServiceRequest, claim: IdempotencyClaim): Promise<ClaimOutcome> {
    const outcome = await this.repository.claim(claim);
    if (!request.incoming || outcome.kind !== 'other_body') return outcome;
    claim.digest = await digestOfStream(request, request.incoming);
    const known = await this.repository.claim(claim);
    if (known.kind !== 'claimed') return known;
    // the stored answer has just expired, and the body cannot be read again
    await this.repository.release(claim);
    return { kind: 'busy' };
  }

  private async handle(
    request: ServiceRequest,
    claim: IdempotencyClaim,
    response: Response,
    handler: Handler,
  ): Promise<Reply> {
    let result: unknown;
    try {
      result = await handler();
      if (request.incoming) claim.digest = await digestOfStream(request, request.incoming);
    } catch (error) {
      await this.repository
        .release(claim)
        .catch((cause: unknown) => logFailure(cause, 'a claim was not released'));
      throw error;
    }
    const reply = replyOf(result, response.statusCode);
    const body = Buffer.isBuffer(reply.body) ? reply.body : new RawJson(toJsonText(reply.body ?? null));
    await this.keep(claim, {
      status: reply.status,
      headers: reply.headers,
      body: Buffer.isBuffer(body) ? body : Buffer.from(body.text),
      workspaceId: workspaceOf(reply),
    });
    return new Reply(reply.status, body, reply.headers);
  }

  /** Stores an answer for replays. Retries a few times, and never fails, because the work itself is done. */
  private async keep(claim: IdempotencyClaim, answer: KeptAnswer): Promise<void> {
    const store = (): Promise<void> => this.repository.keep(claim, answer);
    await retry(store, { attempts: KEEP_ATTEMPTS, firstDelayMs: KEEP_DELAY_MS }).catch((error: unknown) =>
      logFailure(error, 'a first answer was not kept'),
    );
  }
}

/** Returns the response of a handler, in whichever form it returned it. */
function replyOf(result: unknown, status: number): Reply {
  if (result instanceof Reply) return result;
  return result instanceof Versioned
    ? new Reply(status, result.view, { ETag: etagOf(result.version) })
    : new Reply(status, result);
}

/** Returns the workspace of the resource that is answered; null if it has none. */
function workspaceOf({ body, workspaceId }: Reply): string | null {
  const named = workspaceId ?? (body as { workspace_id?: unknown } | null | undefined)?.workspace_id;
  return typeof named === 'string' ? named : null;
}

/** Throws 403 unless the caller still holds a role of the route in the workspace of a stored answer, if guards cannot know it. */
function checkAccess({ user, rule }: ServiceRequest, workspaceId: string | null): void {
  if (!user || rule?.kind !== 'roles_somewhere' || workspaceId === null) return;
  const held = rolesIn(user, workspaceId);
  if (rule.anyOf.some((role) => held.has(role))) return;
  throw problem.accessDenied(`Requires the role ${rule.anyOf.join(' or ')} in the workspace.`);
}

const logFailure = (error: unknown, message: string): void => rootLogger.error({ err: error }, message);

/** Returns a stored response. One with its own media type is bytes, every other one JSON. */
function replayed({ status, headers, body }: KeptAnswer): Reply {
  const isBytes = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  const sent = isBytes ? body : new RawJson(body.toString());
  return new Reply(status, sent, { ...headers, 'Idempotency-Replayed': 'true' });
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();

function claimOf(request: ServiceRequest, key: string): IdempotencyClaim {
  const { user, context, method, params } = request;
  // ids of platform principals are unique only within their issuer
  const issuer = user?.orgId === null && user.credential.kind === 'token' ? user.credential.issuer : null;
  // the operation and its object, independent of the spelling of the path
  const identity = [
    issuer,
    user?.orgId,
    user?.id,
    context.workspaceId,
    method,
    routeOf(request),
    params,
    key,
  ];
  return {
    requestId: sha256(JSON.stringify(identity)),
    digest: digestOf(request),
    holder: randomUUID(),
  };
}

/** The digest of a body that has not arrived yet. No stored answer has it. */
const NOT_ARRIVED = Buffer.alloc(32);

/** Returns a digest of the body, the query, and the media type of a body that may have several. */
function digestOf(request: ServiceRequest): Buffer {
  const { bodyFile, bodySha256, incoming, rawBody } = request;
  const query = queryOf(request);
  if (incoming) return NOT_ARRIVED;
  if (bodyFile) return sha256(JSON.stringify([bodyFile.sha256, mediaTypeOf(request), query]));
  const ofBody = bodySha256 ?? sha256(rawBody ?? '');
  return query === '' ? ofBody : sha256(JSON.stringify([ofBody.toString('hex'), query]));
}

const digestOfStream = async (request: ServiceRequest, incoming: IncomingBytes): Promise<Buffer> =>
  sha256(JSON.stringify([await incoming.sha256(), mediaTypeOf(request), queryOf(request)]));

const queryOf = ({ url }: ServiceRequest): string => url.split('?', 2)[1] ?? '';
