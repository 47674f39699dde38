import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request } from 'express';
import { type ByteLease, runRequest } from '#platform/concurrency';
import { randomHex } from '#platform/ids';
import { type AccessRule, isRead, type OrgScope, type Principal, type Scope } from '#platform/scope';
import { rootLogger } from '#platform/logging';
import { tracing } from '#platform/tracing';
import type { IncomingRequest } from './incoming-request';

/** Identifies a request in its response, its problem body and its log line. */
export interface RequestContext {
  requestId: string;
  /** W3C trace id, 32 lower-case hex digits: the trace of the request's span if the request is traced. */
  traceId: string;
  startedAt: number;
  workspaceId?: string;
}

/** The request, with the members that the admission and the interceptor add. */
export interface ServiceRequest extends Omit<Request, 'user'> {
  context: RequestContext;
  /** When the headers had arrived, if the request waited for its turn. */
  receivedAt?: number;
  user?: Principal;
  scope?: Scope | OrgScope;
  /** Who may call the route. Set by the admission. */
  rule?: AccessRule;
  /** The parameters of the path as sent, and the workspace of the names in them, if `params` has ids instead of names. */
  named?: { params: ServiceRequest['params']; workspaceId: string };
  /** The decoded bytes of a buffered body that is not parsed. */
  rawBody?: Buffer;
  /** When a JSON body had arrived. */
  bodyReadAt?: number;
  /** Identifies the repeats of a request with an idempotency key, for work that is not part of its transaction. */
  repeatId?: string;
  /** The SHA-256 of a JSON body, if the request has an idempotency key. */
  bodySha256?: Buffer;
  /** Memory held by the body, and then by the response until the client has read it. */
  lease?: ByteLease;
  /** Tells the load shedder whether the request only waits, and so does not count as one in flight. */
  setIdle?: (isIdle: boolean) => void;
  /** Settles when the handler has ended, which may be later than the response. */
  handled?: Promise<void>;
  /** A body that the handler reads (`@RequestBody({ kind: 'streamed' })`). */
  incoming?: IncomingRequest;
  /** Asks a client that sent `Expect: 100-continue` to send the body. Called by the reader of the body. */
  askForBody?: (() => void) | undefined;
  /** Aborts the `@RequestSignal()` of the handler. */
  ending?: AbortController;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** W3C Trace Context, section 3.2. A version of ff and all-zero ids are invalid. */
const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?=-|$)/;

/**
 * Sets the ids of a request, and logs one line when its response is closed. The first step of every request.
 *
 * @param onClose called when the response is closed
 */
export function beginRequest(
  request: ServiceRequest,
  response: ServerResponse,
  onClose: () => void,
  next: () => void,
): void {
  const header = request.headers['x-request-id'];
  request.context = {
    requestId: typeof header === 'string' && REQUEST_ID.test(header) ? header : randomUUID(),
    traceId: tracing().traceId() ?? incomingTrace(request)?.traceId ?? randomHex(16),
    startedAt: request.receivedAt ?? performance.now(),
  };
  response.once('close', () => {
    logRequest(request, response);
    onClose();
  });
  runRequest(next);
}

/** Returns the trace and the span of a valid `traceparent`. */
export function incomingTrace({
  headers: { traceparent },
}: Pick<IncomingMessage, 'headers'>): { traceId: string; spanId: string } | undefined {
  const [, traceId, spanId] = (typeof traceparent === 'string' && TRACEPARENT.exec(traceparent)) || [];
  return traceId === undefined ? undefined : { traceId, spanId: spanId! };
}

/** Returns the target of a request in origin form (RFC 9112, section 3.2.1): its path and query. */
export function targetOf({ url = '/' }: IncomingMessage): string {
  if (url.startsWith('/')) return url;
  const target = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return target.startsWith('/') ? target : `/${target}`;
}

/** Returns the path of a request as it was sent. */
export function pathOf(request: IncomingMessage): string {
  const target = targetOf(request);
  const end = target.indexOf('?');
  return end < 0 ? target : target.slice(0, end);
}

/** Returns whether a request is a probe of an orchestrator, which is never limited, shed or logged. */
export const isHealthCheck = (request: IncomingMessage): boolean => pathOf(request).startsWith('/health/');

/** Returns whether a request only reads, whatever its method. */
export const isReading = ({ method, rule }: ServiceRequest): boolean =>
  method === 'GET' || method === 'HEAD' || isRead(rule);

/** Calls `release` when the response is closed and the handler has ended. Timeouts and disconnects do not end the handler. */
export function onEnd(request: ServiceRequest, response: ServerResponse, release: () => void): void {
  const end = (): void => void (request.handled ? request.handled.finally(release) : release());
  if (response.closed || response.destroyed) end();
  else response.once('close', end);
}

/** Returns the route's pattern, such as `/eval/v1/datasets/:id`; undefined when no route matched. */
export const routeOf = ({ route }: ServiceRequest): string | undefined =>
  (route as { path?: string } | undefined)?.path;

function logRequest(request: ServiceRequest, response: ServerResponse): void {
  // health checks come every few seconds and would bury the other log lines
  if (isHealthCheck(request) || !rootLogger.isLevelEnabled('info')) return;
  const { requestId, traceId, startedAt, workspaceId } = request.context;
  rootLogger.info(
    {
      request_id: requestId,
      trace_id: traceId,
      method: request.method,
      route: routeOf(request) ?? null,
      status: response.statusCode,
      completed: response.writableFinished,
      duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
      org_id: request.user?.orgId ?? null,
      workspace_id: workspaceId ?? null,
      principal_id: request.user?.id ?? null,
    },
    'request',
  );
}
