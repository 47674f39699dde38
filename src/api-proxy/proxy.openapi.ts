import type { OpenAPIObject } from '@nestjs/swagger';
import { AUTHENTICATION_CODES, type ProblemCode, problemContent } from '#platform/problem';
import { WORKSPACE_HEADER } from '#platform/auth';
import { FORWARDED_METHODS, PROXY_ROLES, PROXY_ROUTE } from './api-proxy.endpoint';

/** The problems of the service itself, by status and in this order. An API may answer with the same statuses. */
const PROBLEMS: readonly (readonly [status: number, reason: string, codes: readonly ProblemCode[]])[] = [
  [
    400,
    'The path could leave the base path of the API, or the request cannot be forwarded.',
    ['base_path_escaped', 'invalid_query', 'invalid_request'],
  ],
  [
    401,
    'The credential for this service is missing or invalid.',
    ['alg_mismatch', ...AUTHENTICATION_CODES.filter((code) => code !== 'alg_mismatch')],
  ],
  [
    403,
    'You do not have the required role, the API does not allow the method, or its address must not be called.',
    ['access_denied', 'account_suspended', 'forbidden', 'platform_principal_refused'],
  ],
  [404, 'The API does not exist or is not visible to you.', ['not_found']],
  [405, 'The method cannot be forwarded.', ['method_not_allowed']],
  [408, 'You stopped sending the body of the request.', ['request_timeout']],
  [409, 'The API or its workspace is archived.', ['conflict']],
  [
    429,
    'Too many requests, of yours or to this API. Wait for the seconds in `Retry-After`.',
    ['rate_limited'],
  ],
  [500, 'Internal error. Quote the request id when you report it.', ['internal_error']],
  [
    503,
    'The API cannot be reached or has no credential, or the service is unavailable or overloaded.',
    ['auth_unavailable', 'service_overloaded', 'service_unavailable'],
  ],
  [504, 'The API did not answer within its timeout.', ['request_timeout']],
];

const DESCRIPTION = `Sends the request to a registered API with the secret that is stored for it, and returns the answer as it arrives. Method, path, query, body and end-to-end headers are forwarded as sent, except \`Authorization\` and \`Cookie\`, which are never forwarded.

An answer of the API has \`Via\`, and \`agent-registry; received-status=…\` in \`Proxy-Status\` (RFC 9209). A problem of the service has \`agent-registry; error=…\` instead, and no \`Via\`. \`${PROXY_ROUTE.slice(0, -'/{path}'.length)}\` without a path calls the base URL itself. Each API names the methods that it allows.

Requires the role ${PROXY_ROLES.map((role) => `\`${role}\``).join(' or ')} in the workspace of the API.`;

const PARAMETERS = [
  { name: 'api_id', in: 'path' as const, required: true, schema: { type: 'string' } },
  {
    name: 'path',
    in: 'path' as const,
    required: true,
    description:
      'What follows the base URL of the API. It may contain slashes: send them as they are, not as `%2F`, which only APIs with `allow_encoded_slash` take. Everything else is forwarded byte for byte. Dot segments, backslashes, control characters and a slash at the start return 400 `base_path_escaped`, in any encoding.',
    schema: { type: 'string' },
  },
  {
    name: WORKSPACE_HEADER,
    in: 'header' as const,
    required: false,
    description:
      'Optional. It has no effect here, so a client can send it with every request. Returns 403 for a workspace that you cannot access.',
    schema: { type: 'string' },
  },
];

const ANY = { '*/*': { schema: {} } };

const header = (description: string, required = true) => ({
  description,
  required,
  schema: { type: 'string' },
});

const VIA = 'The way of the answer. Ends with this service, `1.1 agent-registry`.';
const OF_THE_API = {
  Via: header(VIA),
  'Proxy-Status': header(
    'The status that the API sent, such as `agent-registry; received-status=200`, after the entries of earlier proxies.',
  ),
};
const OF_EITHER = {
  Via: header(`${VIA} Absent from a problem of the service.`, false),
  'Proxy-Status': header(
    'For a problem of the service, why there is no answer of the API, such as `agent-registry; error=connection_refused`.',
  ),
};

function operationOf(method: (typeof FORWARDED_METHODS)[number]) {
  const takesBody = method !== 'GET' && method !== 'HEAD';
  const problems = PROBLEMS.map(([status, description, codes]): [string, object] => [
    String(status),
    { description, headers: OF_EITHER, content: { ...problemContent(codes), ...ANY } },
  ]);
  return {
    operationId: `forward${method.charAt(0)}${method.slice(1).toLowerCase()}`,
    summary: `Call a registered API (${method})`,
    description: DESCRIPTION,
    tags: ['API proxy'],
    parameters: PARAMETERS,
    ...(takesBody && { requestBody: { description: 'Any body, forwarded as sent.', content: ANY } }),
    security: [{ bearer: [] }],
    responses: {
      '2XX': { description: 'The API has answered.', headers: OF_THE_API, content: ANY },
      ...Object.fromEntries(problems),
      default: { description: 'Any other answer of the API.', headers: OF_THE_API, content: ANY },
    },
  };
}

/** The operations of the API proxy for the OpenAPI document, which cannot find them among the controllers. */
export const PROXY_PATHS: OpenAPIObject['paths'] = {
  [PROXY_ROUTE]: Object.fromEntries(
    FORWARDED_METHODS.map((method) => [method.toLowerCase(), operationOf(method)]),
  ),
};
