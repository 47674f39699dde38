import type { OpenAPIObject } from '@nestjs/swagger';
import { AUTHENTICATION_CODES, type ProblemCode, problemContent } from '#platform/problem';
import { WORKSPACE_HEADER } from '#platform/auth';
import { FORWARDED_METHODS, PROXY_ROLES, PROXY_ROUTE } from './api-proxy.endpoint';

/** The service's own problems, ordered by status. An API may return the same statuses. */
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
    'You do not have the required role, the API does not allow the method, or its address is not public.',
    ['access_denied', 'account_suspended', 'forbidden', 'platform_principal_refused'],
  ],
  [404, 'The API does not exist or is not visible to you.', ['not_found']],
  [405, 'The method cannot be forwarded.', ['method_not_allowed']],
  [408, 'You stopped sending the body of the request.', ['request_timeout']],
  [409, 'The API or its workspace is archived.', ['conflict']],
  [
    429,
    'You sent too many requests, or the API received too many. Wait for the seconds in `Retry-After`.',
    ['rate_limited'],
  ],
  [500, 'Internal error. Quote the request id when you report it.', ['internal_error']],
  [
    503,
    'The API cannot be reached or has no credential, or the service is unavailable or overloaded.',
    ['auth_unavailable', 'service_overloaded', 'service_unavailable'],
  ],
  [504, 'The API did not respond within its timeout.', ['request_timeout']],
];

const DESCRIPTION = `Sends the request to the API, and streams its response back.

Requires ${PROXY_ROLES.map((role) => `\`${role}\``).join(' or ')} in the workspace of the API.`;

const PARAMETERS = [
  { name: 'api_id', in: 'path' as const, required: true, schema: { type: 'string' } },
  {
    name: 'path',
    in: 'path' as const,
    required: true,
    description:
      'The path to append to the base URL of the API, forwarded byte for byte. Send slashes unencoded: only APIs with `allow_encoded_slash` accept `%2F`. Dot segments, backslashes, control characters and a leading slash return 400 `base_path_escaped`, in any encoding.',
    schema: { type: 'string' },
  },
  {
    name: WORKSPACE_HEADER,
    in: 'header' as const,
    required: false,
    description:
      'Optional, so that a client can send it with every request. It selects nothing here. Returns 400 for several workspaces, and 403 for a workspace that you cannot access.',
    schema: { type: 'string' },
  },
];

const ANY = { '*/*': { schema: {} } };

const header = (description: string, required = true) => ({
  description,
  required,
  schema: { type: 'string' },
});

const VIA = 'The proxies that forwarded the response. Ends with this service, `1.1 agent-registry`.';
const API_RESPONSE_HEADERS = {
  Via: header(VIA),
  'Proxy-Status': header(
    'The status that the API sent, such as `agent-registry; received-status=200`, after the entries of earlier proxies.',
  ),
};
const PROBLEM_HEADERS = {
  Via: header(`${VIA} Absent from a problem of the service itself.`, false),
  'Proxy-Status': header(
    'For a problem of the service itself: why there is no response from the API, such as `agent-registry; error=connection_refused`.',
  ),
};

function operationOf(method: (typeof FORWARDED_METHODS)[number]) {
  const takesBody = method !== 'GET' && method !== 'HEAD';
  const problems = PROBLEMS.map(([status, description, codes]): [string, object] => [
    String(status),
    { description, headers: PROBLEM_HEADERS, content: { ...problemContent(codes), ...ANY } },
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
      200: { description: 'A response from the API.', headers: API_RESPONSE_HEADERS, content: ANY },
      ...Object.fromEntries(problems),
      default: {
        description: 'Any other response from the API.',
        headers: API_RESPONSE_HEADERS,
        content: ANY,
      },
    },
  };
}

/** The operations of the API proxy for the OpenAPI document. They are written here because the proxy is not a controller. */
export const PROXY_PATHS: OpenAPIObject['paths'] = {
  [PROXY_ROUTE]: Object.fromEntries(
    FORWARDED_METHODS.map((method) => [method.toLowerCase(), operationOf(method)]),
  ),
};
