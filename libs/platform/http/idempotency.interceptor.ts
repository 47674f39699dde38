import { createHash } from 'node:crypto';
import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { catchError, from, lastValueFrom, mergeMap, type Observable } from 'rxjs';
import { Environment } from '#platform/config';
import { RawJson, toJsonText } from '#platform/json';
import { problem } from '#platform/problem';
import { type IdempotencyClaim, IdempotencyStore } from './idempotency.store';
import { Reply } from './reply';
import type { ServiceRequest } from './request-context';

const NOT_REPEATABLE = 'http:not-repeatable';
const KEY_FORM = /^[\x21-\x7e]{1,255}$/;

/** On routes whose answers are secrets and must not be kept: the making of keys and tokens. */
export const NotRepeatable = () => SetMetadata(NOT_REPEATABLE, true);

/**
 * `Idempotency-Key` on POST and PATCH: a repeat by the same principal on the same path replays the first 2xx answer
 * with `Idempotency-Replayed: true`; with another body it is 422, while the first is under way 409.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly store: IdempotencyStore,
    private readonly environment: Environment,
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
    return from(this.run(claimOf(request, key), http.getResponse<Response>(), next));
  }

  private async run(claim: IdempotencyClaim, response: Response, next: CallHandler): Promise<unknown> {
    const outcome = await this.store.claim(claim, this.environment.REQUEST_TIMEOUT_MS * 2);
    if (outcome.kind === 'busy')
      throw problem.conflict('The first request with this Idempotency-Key is still under way.');
    if (outcome.kind === 'other_body') {
      throw problem.validationFailed('This Idempotency-Key was used with another body.');
    }
    if (outcome.kind === 'answered') {
      const { status, headers, body } = outcome.answer;
      return new Reply(status, new RawJson(body), { ...headers, 'Idempotency-Replayed': 'true' });
    }
    return lastValueFrom(
      next.handle().pipe(
        mergeMap(async (result: unknown) => {
          const reply = result instanceof Reply ? result : new Reply(response.statusCode, result);
          const body = toJsonText(reply.body ?? null);
          await this.store.keep(claim, { status: reply.status, headers: reply.headers, body });
          return new Reply(reply.status, new RawJson(body), reply.headers);
        }),
        catchError(async (error: unknown) => {
          await this.store.release(claim);
          throw error;
        }),
      ),
    );
  }
}

const claimOf = (request: ServiceRequest, key: string): IdempotencyClaim => ({
  principalId: `${request.user?.orgId ?? 'platform'}/${request.user?.id ?? ''}`,
  route: `${request.context.workspaceId ?? ''} ${request.method} ${request.path}`,
  key,
  digest: createHash('sha256')
    .update(request.rawBody ?? '')
    .digest(),
});
