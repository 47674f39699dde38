import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { from, mergeMap, type Observable } from 'rxjs';
import { Environment } from '#platform/config';
import { Problem, problem } from '#platform/problem';
import { BODY_RULE, type BodyRule } from './body.decorator';
import { readBody, receiveBody } from './body-reader';
import { undoCodings } from './body-decoder';
import type { HoldBytes } from './body-room';
import { BodyRooms, DECODED_ROOM } from './body-rooms';
import { codingsOf } from './content-coding';
import { readEncodedBody } from './encoded-body';
import { takes } from './handler-parameters';
import { checkCharset, mediaTypeOf } from './media-type';
import { parseBody } from './parse-body';
import type { ServiceRequest } from './request-context';
import { SpoolSpace } from './spool-space';
import { SpooledFile } from './spooled-file';

/** `application/json`, or a merge patch (RFC 7396); other parameters than a UTF-8 charset are refused. */
const JSON_MEDIA = /^application\/(merge-patch\+)?json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;

/**
 * Reads and parses the body, after the guards: who may not call a route does not get to send a body to it. Order
 * and codes: 415 for the encoding, 415 for the media type, 413 for the size, 400 for what is not strict JSON.
 */
@Injectable()
export class BodyInterceptor implements NestInterceptor {
  private readonly rules = new WeakMap<object, BodyRule | null>();

  constructor(
    private readonly reflector: Reflector,
    private readonly environment: Environment,
    private readonly space: SpoolSpace,
    private readonly rooms: BodyRooms,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const rule = this.ruleOf(context);
    if (!rule || rule.kind === 'stream') return next.handle();
    const http = context.switchToHttp();
    const request = http.getRequest<ServiceRequest>();
    const response = http.getResponse<Response>();
    const read =
      rule.kind === 'file' ? this.spool(request, response, rule) : this.read(request, response, rule);
    return from(read).pipe(mergeMap(() => next.handle()));
  }

  private async read(request: ServiceRequest, response: Response, rule: BodyRule): Promise<void> {
    const limit = this.limitOf(request, rule);
    if (rule.kind === 'bytes') {
      const { room } = rule;
      const hold = room && this.rooms.of(room).holder(request.user?.orgId ?? '', response);
      request.rawBody = await readBytes(request, rule, limit, hold);
      return;
    }
    const codings = codingsOf(request.headers['content-encoding'], rule.codings ?? []);
    const media = request.headers['content-type'];
    const empty = request.headers['content-length'] === '0' || !hasBody(request);
    if (empty && rule.optional === true) {
      request.rawBody = Buffer.alloc(0);
      request.body = {};
      return;
    }
    if (!empty && (media === undefined || !JSON_MEDIA.test(media))) {
      checkCharset(media ?? '');
      throw new Problem('unsupported_media_type', 'Send the body as application/json.');
    }
    const bytes =
      codings.length === 0
        ? await readBody(request, limit)
        : await readEncodedBody(
            request,
            codings,
            limit,
            this.rooms.of(DECODED_ROOM).holder(request.user?.orgId ?? '', response),
          );
    if (bytes.length === 0) throw problem.invalidRequest('A JSON body is required.');
    request.rawBody = bytes;
    request.body = parseBody(bytes);
  }

  /** The file goes with the answer, whatever becomes of it: also a 504, or one that the client does not wait for. */
  private async spool(request: ServiceRequest, response: Response, rule: BodyRule): Promise<void> {
    codingsOf(request.headers['content-encoding'], []);
    checkMedia(request, rule);
    checkCharset(request.headers['content-type'] ?? '');
    const file = await SpooledFile.create(this.space.roomOf(request.user?.orgId ?? ''));
    request.bodyFile = file;
    const close = (): void => void file.close();
    if (response.closed || response.destroyed) close();
    else response.once('close', close);
    await receiveBody(request, this.limitOf(request, rule), (chunk) => file.append(chunk));
    file.finish();
  }

  private limitOf(request: ServiceRequest, { limit = this.environment.BODY_LIMIT_BYTES }: BodyRule): number {
    return typeof limit === 'number' ? limit : limit(this.environment, mediaTypeOf(request) ?? '');
  }

  /** How a handler's body is read; null where it takes none. */
  private ruleOf(context: ExecutionContext): BodyRule | null {
    const handler = context.getHandler();
    let rule = this.rules.get(handler);
    if (rule === undefined) {
      const declared = this.reflector.get<BodyRule | undefined>(BODY_RULE, handler);
      rule = declared ?? (takes(context, 'body') ? { kind: 'json' } : null);
      this.rules.set(handler, rule);
    }
    return rule;
  }
}

function checkMedia(request: ServiceRequest, { media }: BodyRule): void {
  if (!media || media.includes(mediaTypeOf(request) ?? '')) return;
  throw new Problem('unsupported_media_type', `Send the body as ${media.join(' or ')}.`);
}

async function readBytes(
  request: ServiceRequest,
  rule: BodyRule,
  limit: number,
  hold?: HoldBytes,
): Promise<Buffer> {
  const { codings: allowed } = rule;
  const codings = allowed ? codingsOf(request.headers['content-encoding'], allowed) : [];
  checkMedia(request, rule);
  const sent = await readBody(request, limit, hold);
  return codings.length === 0 ? sent : undoCodings([sent], codings, limit, hold);
}

const hasBody = ({ headers }: ServiceRequest): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
