import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { Problem } from '#platform/problem';
import { allowedCodings, type BodyRule } from './body.decorator';
import { BodyBudgets, MEMORY_BUDGET } from './body-budgets';
import { decode } from './body.decoder';
import { readBody, receiveBody } from './body.reader';
import { checkCharset, codingsOf, mediaTypeOf } from './content-headers';
import { IncomingRequest } from './incoming-request';
import type { ServiceRequest } from './request-context';
import { SpooledFile } from './spooled-file';

/** Receives bodies. Checks the encoding and the media type (415) before the size (413). */
@Injectable()
export class RequestBytes {
  constructor(
    private readonly environment: Environment,
    private readonly budgets: BodyBudgets,
  ) {}

  /** Returns the decoded body of a request, whose memory is reserved until the response is sent. Throws the errors of `readBody`. */
  async read(request: ServiceRequest, response: ServerResponse, rule: BodyRule): Promise<Buffer> {
    const codings = codingsOf(request.headers['content-encoding'], allowedCodings(rule));
    checkMedia(request, rule);
    const lease = this.budgets.leaseFor(request, response, rule.budget ?? MEMORY_BUDGET);
    request.lease = lease;
    const timeoutMs = this.environment.BODY_TIMEOUT_MS;
    return readBody(request, { limit: this.limitOf(request, rule), codings, lease, timeoutMs });
  }

  /** Returns the body of a request that the handler reads as it arrives. */
  stream(request: ServiceRequest, response: ServerResponse, rule: BodyRule): IncomingRequest {
    const allowed = allowedCodings(rule, mediaTypeOf(request) ?? '');
    const codings = codingsOf(request.headers['content-encoding'], allowed);
    checkMedia(request, rule);
    const limit = this.limitOf(request, rule);
    const bytes = decode(receiveBody(request, limit), codings, limit);
    return new IncomingRequest(request.headers, bytes, async () => {
      const file = await SpooledFile.create(this.budgets.spool.acquire(request.user?.orgId ?? ''));
      const close = (): void => void file.close();
      if (response.closed || response.destroyed) close();
      else response.once('close', close);
      return file;
    });
  }

  /** Returns the largest body that a rule allows, in bytes. */
  private limitOf(request: ServiceRequest, { limit = this.environment.BODY_LIMIT_BYTES }: BodyRule): number {
    return typeof limit === 'number' ? limit : limit(this.environment, mediaTypeOf(request) ?? '');
  }
}

/** Throws 415 for a media type that the rule does not name, and for text in another charset than UTF-8. */
function checkMedia(request: ServiceRequest, { media }: BodyRule): void {
  if (!media) return;
  if (!media.includes(mediaTypeOf(request) ?? '')) {
    throw new Problem('unsupported_media_type', `Send the body as ${media.join(' or ')}.`);
  }
  checkCharset(request.headers['content-type'] ?? '');
}
