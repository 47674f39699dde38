import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type Access, Admission, checkAllowed, type Member } from '#platform/auth';
import { Environment } from '#platform/config';
import { baseUrlOf, type Endpoint, receiveBody, type ServiceRequest, targetOf } from '#platform/http';
import { randomHex } from '#platform/ids';
import { OutboundHttp } from '#platform/outbound';
import { Problem, problem } from '#platform/problem';
import { ClientAddresses } from '#platform/rate-limit';
import { type Role, rolesIn } from '#platform/scope';
import { tracing } from '#platform/tracing';
import { ApiDirectory, type ApiTarget } from '../registry';
import { ApiLimits } from './api-limits';
import { type Hop, isLoop, requestHeaders } from './proxy-headers';
import { pathFault } from './proxy-path';
import { exchange, type UpstreamRequest } from './upstream-exchange';
import { proxyError } from './upstream-failure';
import { Upstreams, withParameter } from './upstreams';

/** The prefix of forwarded requests. The id of an API and the path to forward follow it. */
export const PROXY_PREFIX = '/api/v1/apis/';

/** The route in logs, metrics and the OpenAPI document. */
export const PROXY_ROUTE = `${PROXY_PREFIX}{api_id}/{path}`;

export const FORWARDED_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** The roles that may use the proxy. */
export const PROXY_ROLES: readonly [Role, Role] = ['editor', 'runtime'];

const ROUTE = { path: PROXY_ROUTE };

const ACCESS: Access = {
  rule: { kind: 'roles_somewhere', anyOf: PROXY_ROLES },
  areas: ['apis'],
  rateClass: 'proxy',
};

/**
 * Forwards requests to registered APIs. It is not a Nest controller, because the bytes pass through unparsed in both directions,
 * and interceptors would cost more than the forwarding.
 */
@Injectable()
export class ApiProxyEndpoint implements Endpoint {
  constructor(
    private readonly admission: Admission,
    private readonly apis: ApiDirectory,
    private readonly limits: ApiLimits,
    private readonly upstreams: Upstreams,
    private readonly outbound: OutboundHttp,
    private readonly addresses: ClientAddresses,
    private readonly environment: Environment,
  ) {}

  /**
   * Handles a request below `PROXY_PREFIX`. Throws a `Problem` if no response was sent. Awaits only where it must, because
   * each promise costs about as much as one of the checks.
   */
  async handle(request: ServiceRequest, response: ServerResponse): Promise<void> {
    request.route = ROUTE;
    let leave: (() => void) | undefined;
    try {
      const { method, headers } = request;
      if (!(FORWARDED_METHODS as readonly string[]).includes(method)) throw unsupportedMethod();
      await this.admission.admit(request, response, ACCESS);
      const principal = request.user as Member;
      checkUpgrade(request);
      if (isLoop(headers.via)) throw loopDetected();
      const target = splitTarget(targetOf(request));
      const fault = pathFault(target.path);
      if (fault === 'escape') throw basePathEscaped();
      const registered = await this.apis.find(principal.orgId, target.apiId);
      const api = requireAccess(registered, principal, target.apiId);
      checkAllowed(principal.allow, 'apis', api.api_id, api.name);
      request.context.workspaceId = api.workspace_id;
      if (fault === 'encoded_slash' && !api.allow_encoded_slash) throw basePathEscaped();
      checkUsable(api, method);
      if (api.requests_per_minute !== null) await this.limits.count(api, api.requests_per_minute);
      leave = this.limits.enter(api);
      const upstreamRequest = this.requestOf(request, api, target);
      await exchange(this.outbound.dispatcher, upstreamRequest, response, request.context.requestId);
    } finally {
      leave?.();
    }
  }

  /** Returns a `Proxy-Status` that names this service as the source of the response. Upstream problems bring their own. */
  problemHeaders(error: unknown): Readonly<Record<string, string>> {
    const isDenied = error instanceof Problem && error.status < 500;
    return { 'Proxy-Status': proxyError(isDenied ? 'http_request_denied' : 'proxy_internal_response') };
  }

  private requestOf(request: ServiceRequest, api: ApiTarget, target: Target): UpstreamRequest {
    const { origin, basePath, headers: own, names, parameter } = this.upstreams.of(api);
    const query = parameter ? withParameter(target.query, parameter) : target.query;
    const path = `${basePath}${target.separator}${target.path}` || '/';
    const { method, headers } = request;
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    return {
      origin,
      path: path + query,
      method,
      headers: requestHeaders(request, { headers: own, names }, this.hopOf(request)),
      body: hasBody ? receiveBody(request, Infinity) : null,
      timeoutMs: api.timeout_ms,
    };
  }

  private hopOf(request: ServiceRequest): Hop {
    const url = baseUrlOf(this.environment, request);
    return {
      httpVersion: request.httpVersion,
      address: this.addresses.exact(request),
      proto: url?.startsWith('https:') ? 'https' : 'http',
      host: url?.split('/')[2],
      traceparent: tracing().traceparent() === undefined ? traceparentOf(request) : undefined,
    };
  }
}

/** Returns the API if the caller may use it. Errors: 404, 403. */
function requireAccess(api: ApiTarget | null, principal: Member, apiId: string): ApiTarget {
  const roles = api && rolesIn(principal, api.workspace_id);
  if (!api || !roles || roles.size === 0) throw problem.notFound('API', apiId);
  if (PROXY_ROLES.some((role) => roles.has(role))) return api;
  throw problem.accessDenied(`Requires the role ${PROXY_ROLES.join(' or ')} in the workspace of the API.`);
}

/** Throws 409 for an archived API or workspace, and 403 for a method that the API does not allow. */
function checkUsable(api: ApiTarget, method: string): void {
  if (api.archived_at) throw problem.conflict('The API is archived. Restore it to use it again.');
  if (api.is_workspace_archived)
    throw problem.conflict('The workspace of the API is archived. Restore it to use the API again.');
  if ((api.allowed_methods as readonly string[]).includes(method)) return;
  throw new Problem('forbidden', `This API allows only ${api.allowed_methods.join(', ')}.`);
}

/** The parts of a request target, as sent. */
interface Target {
  apiId: string;
  /** A slash, or empty if the target ends with the id. */
  separator: '/' | '';
  path: string;
  /** Includes the question mark. Empty if there is no query. */
  query: string;
}

function splitTarget(target: string): Target {
  if (target.includes('#'))
    throw problem.invalidRequest('The request target has a fragment. Remove `#` and all that follows it.');
  const rest = target.slice(PROXY_PREFIX.length);
  const queryStart = rest.indexOf('?');
  const pathname = queryStart < 0 ? rest : rest.slice(0, queryStart);
  const slash = pathname.indexOf('/');
  return {
    apiId: slash < 0 ? pathname : pathname.slice(0, slash),
    separator: slash < 0 ? '' : '/',
    path: slash < 0 ? '' : pathname.slice(slash + 1),
    query: queryStart < 0 ? '' : rest.slice(queryStart),
  };
}

/** Returns the client's `traceparent` if it is valid, and a new one otherwise. */
function traceparentOf({ headers: { traceparent }, context }: ServiceRequest): string {
  return typeof traceparent === 'string' && traceparent.includes(context.traceId)
    ? traceparent
    : `00-${context.traceId}-${randomHex(8)}-00`;
}

/** Throws 400 for an upgrade, such as to WebSocket. Ignores an upgrade to HTTP/2, because clients work without it. */
function checkUpgrade({ headers: { upgrade } }: ServiceRequest): void {
  if (upgrade === undefined || /^h2c$/i.test(upgrade)) return;
  throw problem.invalidRequest(
    'Upgrades, such as to WebSocket, cannot be forwarded. Send the request without `Upgrade`.',
  );
}

const basePathEscaped = (): Problem =>
  new Problem(
    'base_path_escaped',
    'The path could leave the base path of the API. Remove dot segments, backslashes, encoded slashes, control characters and a second slash at its start.',
  );

const loopDetected = (): Problem =>
  problem.invalidRequest(
    'The request has passed through this service several times. Register the base URL of the API itself, not its URL at this proxy.',
    { headers: { 'Proxy-Status': proxyError('proxy_loop_detected') } },
  );

const unsupportedMethod = (): Problem => {
  const allowed = FORWARDED_METHODS.join(', ');
  return new Problem('method_not_allowed', `This path supports ${allowed}.`, { headers: { Allow: allowed } });
};
