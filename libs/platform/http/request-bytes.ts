import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { ByteLease } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { Problem } from '#platform/problem';
import type { BodyRule } from './body.decorator';
import { BodyBudgets, MEMORY_BUDGET } from './body-budgets';
import { readBody } from './body.reader';
import { type ContentCoding, codingsOf, mediaTypeOf } from './content-headers';
import type { ServiceRequest } from './request-context';

/** Reads bodies into memory, which they take from a budget until their responses are sent. */
@Injectable()
export class RequestBytes {
  constructor(
    private readonly environment: Environment,
    private readonly budgets: BodyBudgets,
  ) {}

  /** Returns the decoded body of a request. Throws 415 for its encoding or media type, and the errors of `readBody`. */
  async read(request: ServiceRequest, response: ServerResponse, rule: BodyRule): Promise<Buffer> {
    const codings = rule.codings ? codingsOf(request.headers['content-encoding'], rule.codings) : [];
    checkMedia(request, rule);
    return this.readDecoded(request, response, rule, codings);
  }

  /** Returns the body of a request, decoded from these codings. Throws the errors of `readBody`. */
  readDecoded(
    request: ServiceRequest,
    response: ServerResponse,
    rule: BodyRule,
    codings: readonly ContentCoding[],
  ): Promise<Buffer> {
    const timeoutMs = this.environment.BODY_TIMEOUT_MS;
    const lease = this.leaseFor(request, response, rule);
    return readBody(request, { limit: this.limitOf(request, rule), codings, lease, timeoutMs });
  }

  /** Returns the largest body that a rule allows, in bytes. */
  limitOf(request: ServiceRequest, { limit = this.environment.BODY_LIMIT_BYTES }: BodyRule): number {
    return typeof limit === 'number' ? limit : limit(this.environment, mediaTypeOf(request) ?? '');
  }

  private leaseFor(request: ServiceRequest, response: ServerResponse, { budget }: BodyRule): ByteLease {
    request.lease = this.budgets.leaseFor(request, response, budget ?? MEMORY_BUDGET);
    return request.lease;
  }
}

/** Throws 415 for a media type that the rule does not name. */
export function checkMedia(request: ServiceRequest, { media }: BodyRule): void {
  if (!media || media.includes(mediaTypeOf(request) ?? '')) return;
  throw new Problem('unsupported_media_type', `Send the body as ${media.join(' or ')}.`);
}
