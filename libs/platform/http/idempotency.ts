import { createHash, randomUUID } from 'node:crypto';
import { applyDecorators, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import type { Response } from 'express';
import { Database, RolledBack } from '#platform/db';
import { isRead, rolesIn } from '#platform/scope';
import { RawJson, toJsonText } from '#platform/json';
import { rootLogger } from '#platform/logging';
import { problem } from '#platform/problem';
import {
  type ClaimedResponse,
  type ClaimOutcome,
  type IdempotencyClaim,
  IdempotencyRepository,
  type StoredResponse,
} from './idempotency.repository';
import type { IncomingRequest } from './incoming-request';
import { etagOf, Reply, Versioned } from './reply';
import { routeOf, type ServiceRequest } from './request-context';

export const NOT_REPEATABLE = 'http:not-repeatable';
/** Extension that carries `@NotRepeatable()` to the OpenAPI document, which does not show it. */
export const NOT_REPEATABLE_EXTENSION = 'x-not-repeatable';
/** Validates the parameters of a request and calls its handler. */
type Handler = () => Promise<unknown>;

const KEY_FORM = /^[\x21-\x7e]{1,255}$/;

/** Excludes routes whose responses are secrets (new keys and tokens), routes that forward requests, and routes that only read. */
export const NotRepeatable = () =>
  applyDecorators(SetMetadata(NOT_REPEATABLE, true), ApiExtension(NOT_REPEATABLE_EXTENSION, true));

/**
 * Implements `Idempotency-Key` on every POST and PATCH that writes. A repeat by the same principal on the same path replays
 * the first 2xx response with `Idempotency-Replayed: true`. Throws 422 for a repeat with another body, 409 for a repeat
 * during the first request, and 403 for a repeat by a caller who has lost the role in the workspace of the response.
 * Operations that only read ignore the header, because a repeat does no harm and their responses would fill the table.
 *
 * All that the handler writes is one transaction, in which the response is stored. So a request takes effect once, even if
 * its process dies at any moment.
 */
@Injectable()
export class Idempotency {
  constructor(
    private readonly reflector: Reflector,
    private readonly repository: IdempotencyRepository,
    private readonly database: Database,
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
      throw problem.invalidHeader('Idempotency-Key', 'must be one key of 1 to 255 visible ASCII characters');
    }
    return this.runOnce(request, claimOf(request, key), response, handler);
  }

  private async runOnce(
    request: ServiceRequest,
    claim: IdempotencyClaim,
    response: Response,
    handler: Handler,
  ): Promise<unknown> {
    const outcome = await this.repository.claim(claim);
    if (outcome.kind !== 'claimed') return this.repeat(request, claim, outcome);
    request.repeatId = claim.requestId.toString('hex');
    const renewal = setInterval(() => {
      this.repository
        .renew(claim)
        .catch((error: unknown) => logFailure(error, 'an idempotency claim could not be renewed'));
    }, this.repository.renewalMs);
    try {
      const { reply } = await this.database.joinTransactions(
        () => this.handle(request, claim, response, handler),
        (rows, on) => this.repository.store(rows, on),
      );
      return reply;
    } catch (error) {
      await this.repository
        .release(claim)
        .catch((cause: unknown) => logFailure(cause, 'an idempotency claim could not be released'));
      if (!(error instanceof RolledBack)) throw error;
    } finally {
      clearInterval(renewal);
    }
    // another request with this key has stored its response, or one in the same transaction has failed
    return this.runOnce(request, claim, response, handler);
  }

  /** Calls the handler. Its response is stored in the transaction of what it has written. */
  private async handle(
    request: ServiceRequest,
    claim: IdempotencyClaim,
    response: Response,
    handler: Handler,
  ): Promise<{ reply: Reply; row: ClaimedResponse }> {
    const result = await handler();
    if (request.incoming) claim.digest = await digestOfStream(request, request.incoming);
    const reply = replyOf(result, response.statusCode);
    const body = Buffer.isBuffer(reply.body) ? reply.body : new RawJson(toJsonText(reply.body ?? null));
    const row: ClaimedResponse = {
      ...claim,
      status: reply.status,
      headers: reply.headers,
      body: Buffer.isBuffer(body) ? body : Buffer.from(body.text),
      workspaceId: workspaceOf(reply) ?? request.context.workspaceId ?? null,
      orgId: claim.orgId ?? orgOf(reply),
    };
    return { row, reply: new Reply(reply.status, body, reply.headers) };
  }

  /** Answers a request whose key was used before. Reads a body that arrives as a stream only to compare it. */
  private async repeat(
    request: ServiceRequest,
    claim: IdempotencyClaim,
    outcome: ClaimOutcome,
  ): Promise<Reply> {
    if (outcome.kind === 'stored' && request.incoming) {
      claim.digest = await digestOfStream(request, request.incoming);
    }
    if (outcome.kind !== 'claimed' && outcome.digest !== null && !outcome.digest.equals(claim.digest)) {
      throw problem.validationFailed('This Idempotency-Key was used with another body. Use a new key.');
    }
    if (outcome.kind !== 'stored') {
      throw problem.conflict(
        'The first request with this Idempotency-Key is still running. Try again later.',
        { headers: { 'Retry-After': '1' } },
      );
    }
    if (outcome.stored === null) {
      throw problem.conflict(
        'The first request with this Idempotency-Key succeeded. Its response has been erased together with the data in it.',
      );
    }
    checkAccess(request, outcome.stored.workspaceId);
    return replyOfStored(outcome.stored);
  }
}

/** Converts the result of a handler, in any of its forms, to a reply. */
function replyOf(result: unknown, status: number): Reply {
  if (result instanceof Reply) return result;
  return result instanceof Versioned
    ? new Reply(status, result.view, { ETag: etagOf(result.version) })
    : new Reply(status, result);
}

/** Returns the workspace of the resource in a reply; null if it has none. */
function workspaceOf({ body, workspaceId }: Reply): string | null {
  const named = workspaceId ?? (body as { workspace_id?: unknown } | null | undefined)?.workspace_id;
  return typeof named === 'string' ? named : null;
}

/** Returns the organization that a platform principal has created or changed; null if the reply names none. */
function orgOf({ body }: Reply): string | null {
  const named = (body as { org_id?: unknown } | null | undefined)?.org_id;
  return typeof named === 'string' ? named : null;
}

/** Throws 403 if the caller has lost the route's role in the workspace of a stored response, where the admission cannot check it. */
function checkAccess({ user, rule }: ServiceRequest, workspaceId: string | null): void {
  if (!user || rule?.kind !== 'roles_somewhere' || workspaceId === null) return;
  const roles = rolesIn(user, workspaceId);
  if (rule.anyOf.some((role) => roles.has(role))) return;
  throw problem.accessDenied(`Requires the role ${rule.anyOf.join(' or ')} in the workspace.`);
}

const logFailure = (error: unknown, message: string): void => rootLogger.error({ err: error }, message);

/** Returns the reply of a stored response. A response with its own media type is bytes, every other one JSON. */
function replyOfStored({ status, headers, body }: Omit<StoredResponse, 'orgId' | 'workspaceId'>): Reply {
  const isBytes = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  const sent = isBytes ? body : new RawJson(body.toString());
  return new Reply(status, sent, { ...headers, 'Idempotency-Replayed': 'true' });
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();

function claimOf(request: ServiceRequest, key: string): IdempotencyClaim {
  const { user, context, method, named } = request;
  // ids of platform principals are unique only within their issuer
  const issuer = user?.orgId === null && user.credential.kind === 'token' ? user.credential.issuer : null;
  // the operation and its object, independent of the spelling of the path. A name in the path counts as it was sent, so that
  // a repeat is recognized even if the first request renamed or archived the resource.
  const identity = [
    issuer,
    user?.orgId,
    user?.id,
    named?.workspaceId ?? context.workspaceId,
    method,
    routeOf(request),
    named?.params ?? request.params,
    key,
  ];
  return {
    requestId: sha256(JSON.stringify(identity)),
    digest: digestOf(request),
    orgId: user?.orgId ?? null,
    holder: randomUUID(),
  };
}

/** The digest of a body that has not arrived yet. No stored response has it. */
const NOT_ARRIVED = Buffer.alloc(32);

/** Returns a digest of the body and the query. */
function digestOf(request: ServiceRequest): Buffer {
  const { bodySha256, incoming, rawBody } = request;
  const query = queryOf(request);
  if (incoming) return NOT_ARRIVED;
  const bodyDigest = bodySha256 ?? sha256(rawBody ?? '');
  return query === '' ? bodyDigest : sha256(JSON.stringify([bodyDigest.toString('hex'), query]));
}

/** Returns a digest of the body, the query, and the media type of a body that may have several. */
const digestOfStream = async (request: ServiceRequest, incoming: IncomingRequest): Promise<Buffer> =>
  sha256(JSON.stringify([await incoming.sha256(), incoming.mediaType, queryOf(request)]));

const queryOf = ({ url }: ServiceRequest): string => url.split('?', 2)[1] ?? '';
