import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type Access, Admission, type Member, workspaceInHeader } from '#platform/auth';
import {
  BodyBudgets,
  type Endpoint,
  endingOf,
  incomingTrace,
  pathOf,
  type ProblemWriter,
  type Reply,
  RequestBytes,
  sendBytes,
  type ServiceRequest,
  setOwnHeaders,
  StreamedBody,
  targetOf,
  unknownParameters,
} from '#platform/http';
import { Problem } from '#platform/problem';
import { CALL_FORMATS, type CallFormat, WIRE_PATHS } from './call.types';
import { gatewayProblemWriter } from './gateway-problems.middleware';
import { CALLING_ROLES, type GatewayRequest, GatewayService } from './gateway.service';
import { COUNT_PATH } from './token-counter';

/** Maximum time from a request to the start of its response, including all attempts. */
const CALL_MS = 600_000;

/** The path that counts tokens instead of calling a model. */
const COUNT_TOKENS = `/model/v1${COUNT_PATH}`;

/** The request format of each path that calls models. */
export const CALL_PATHS: ReadonlyMap<string, CallFormat> = new Map([
  ...CALL_FORMATS.map((format) => [`/model/v1${WIRE_PATHS[format]}`, format] as const),
  [COUNT_TOKENS, 'messages'] as const,
]);

/** The client's headers to forward to the provider, by format. */
const FORWARDED: Readonly<Record<CallFormat, readonly string[]>> = {
  chat: ['openai-beta'],
  responses: ['openai-beta'],
  embeddings: [],
  messages: ['anthropic-version', 'anthropic-beta'],
};

const ACCESS: Access = {
  rule: { kind: 'roles_somewhere', anyOf: CALLING_ROLES },
  areas: ['models'],
  rateClass: 'proxy',
};

const BODY = { media: ['application/json'], codings: ['gzip'] } as const;

/**
 * Handles model calls. It is not a Nest controller, because routing, interceptors and their promises would cost more than the
 * call itself.
 */
@Injectable()
export class GatewayEndpoint implements Endpoint {
  constructor(
    private readonly admission: Admission,
    private readonly bytes: RequestBytes,
    private readonly budgets: BodyBudgets,
    private readonly gateway: GatewayService,
  ) {}

  /** Handles a request at one of `CALL_PATHS`. Throws a `Problem` if no response was sent. */
  async handle(request: ServiceRequest, response: ServerResponse): Promise<void> {
    // the path may end with a slash
    const path = pathOf(request).replace(/\/$/, '');
    const format = CALL_PATHS.get(path)!;
    request.route = { path };
    if (request.method !== 'POST') throw methodNotAllowed();
    const { headers } = request;
    if (format === 'messages') acceptApiKey(request);
    await this.admission.admit(request, response, ACCESS);
    const principal = request.user as Member;
    // Anthropic's client sends `beta=true`, which has no effect here
    checkQuery(request, format === 'messages' ? ['beta'] : []);
    this.budgets.checkMemory(principal.orgId);
    const ending = endingOf(request, response);
    const body = await this.bytes.read(request, response, BODY);
    const timer = setTimeout(() => ending.abort(callTimedOut()), CALL_MS).unref();
    const call: GatewayRequest = {
      principal,
      workspaceId: workspaceInHeader(headers),
      format,
      body,
      headers: forwardedHeaders(headers, format),
      parent: incomingTrace(request),
      traceId: request.context.traceId,
      signal: ending.signal,
      lease: request.lease,
    };
    const reply = path === COUNT_TOKENS ? this.gateway.countTokens(call) : this.gateway.call(call);
    await this.send(request, response, await reply.finally(() => clearTimeout(timer)));
  }

  problemWriter(request: ServiceRequest): ProblemWriter {
    return gatewayProblemWriter(pathOf(request));
  }

  private async send(
    request: ServiceRequest,
    response: ServerResponse,
    { status, headers, body }: Reply,
  ): Promise<void> {
    const lease = request.lease!;
    // the call is already paid for, so a problem would be wrong
    if (Buffer.isBuffer(body) && !lease.tryResize(body.length)) return void response.destroy();
    setOwnHeaders(response);
    response.statusCode = status;
    response.setHeader('X-Request-Id', request.context.requestId);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    // a stream counts its own memory
    if (body instanceof StreamedBody) return body.send(response);
    const bytes = body as Buffer;
    response.setHeader('Content-Length', bytes.length);
    await sendBytes(response, bytes);
  }
}

const forwardedHeaders = (headers: ServiceRequest['headers'], format: CallFormat): Record<string, string> =>
  Object.fromEntries(
    FORWARDED[format].flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as const] : [];
    }),
  );

/** Uses `x-api-key`, which Anthropic's clients send by default, if the request has no `Authorization`. */
function acceptApiKey({ headers, rawHeaders }: ServiceRequest): void {
  const key = headers['x-api-key'];
  if (headers.authorization !== undefined || typeof key !== 'string') return;
  headers.authorization = `Bearer ${key}`;
  rawHeaders.push('Authorization', `Bearer ${key}`);
}

const callTimedOut = (): Problem =>
  new Problem('request_timeout', `The request took longer than ${CALL_MS / 1000} s.`);

const methodNotAllowed = (): Problem =>
  new Problem('method_not_allowed', 'This path supports POST.', { headers: { Allow: 'POST' } });

/** Throws 400 for unknown query parameters. */
function checkQuery(request: ServiceRequest, parameters: readonly string[]): void {
  const target = targetOf(request);
  if (!target.includes('?')) return;
  const names = [...new URL(target, 'http://service').searchParams.keys()];
  const unknown = names.filter((name) => !parameters.includes(name));
  if (unknown.length > 0) throw unknownParameters(unknown);
}
