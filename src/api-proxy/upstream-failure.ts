import { codeOfError, outboundFailure } from '#platform/outbound';
import { Problem, type ProblemOptions, problem } from '#platform/problem';
import { PROXY_NAME } from './proxy-headers';

/** Error types of `Proxy-Status` (RFC 9209, section 2.3). */
type ProxyError =
  | 'connection_refused'
  | 'connection_terminated'
  | 'connection_timeout'
  | 'destination_ip_prohibited'
  | 'destination_ip_unroutable'
  | 'dns_error'
  | 'http_protocol_error'
  | 'http_request_denied'
  | 'http_response_header_section_size'
  | 'http_response_timeout'
  | 'proxy_internal_response'
  | 'proxy_loop_detected'
  | 'tls_certificate_error'
  | 'tls_protocol_error';

/** Returns a `Proxy-Status` that names this service as the source of the response, and the reason. */
export const proxyError = (type: ProxyError): string => `${PROXY_NAME}; error=${type}`;

const CODES: readonly (readonly [RegExp, ProxyError])[] = [
  [/^ECONNREFUSED$/, 'connection_refused'],
  [/^(?:ENOTFOUND|ENODATA|EAI_\w+)$/, 'dns_error'],
  [/^(?:EHOST\w+|ENET\w+|EADDRNOTAVAIL)$/, 'destination_ip_unroutable'],
];

/** Returns the problem for a request that got no response from its upstream. */
export function upstreamProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  switch (outboundFailure(error)) {
    case 'blocked_address':
      return new Problem(
        'forbidden',
        'The address of this API is not public. Use a public address, or ask the operator to add it to OUTBOUND_ALLOW.',
        { headers: { 'Proxy-Status': proxyError('destination_ip_prohibited') }, isUpstream: true },
      );
    case 'timeout':
      return new Problem(
        'request_timeout',
        'The API cannot be reached, because connecting to it took too long.',
        {
          headers: { 'Proxy-Status': proxyError('connection_timeout') },
          isUpstream: true,
        },
      );
    case 'tls':
      return unavailable(
        'A secure connection to the API is not possible. Check its certificate and its TLS version.',
        isCertificateError(error) ? 'tls_certificate_error' : 'tls_protocol_error',
        error,
      );
    case 'too_large':
      return unavailable(
        'The response headers of the API are too large.',
        'http_response_header_section_size',
        error,
      );
    case 'protocol':
      return unavailable('The response of the API is not valid HTTP.', 'http_protocol_error', error);
    case 'unreachable':
      return unreachable(error);
    default:
      return new Problem('internal_error', 'Internal error. Quote the request id when you report it.', {
        cause: error,
      });
  }
}

/** Returns the 504 for an upstream that did not respond in time. */
export const lateProblem = (timeoutMs: number): Problem =>
  new Problem('request_timeout', `The API did not respond within ${timeoutMs} ms.`, {
    headers: { 'Proxy-Status': proxyError('http_response_timeout') },
    isUpstream: true,
  });

function unreachable(error: unknown): Problem {
  const code = codeOfError(error);
  const type = CODES.find(([codes]) => codes.test(code))?.[1] ?? 'connection_terminated';
  const details: Partial<Record<ProxyError, string>> = {
    connection_refused: 'The API refused the connection.',
    dns_error: 'The host of the API cannot be resolved.',
    destination_ip_unroutable: 'The host of the API cannot be reached.',
  };
  return unavailable(details[type] ?? 'The API closed the connection before it responded.', type, error);
}

const unavailable = (detail: string, type: ProxyError, cause: unknown): Problem =>
  problem.unavailable(detail, {
    headers: { 'Proxy-Status': proxyError(type) },
    isUpstream: true,
    cause,
  } satisfies ProblemOptions);

const isCertificateError = (error: unknown): boolean =>
  /^(?:CERT|CRL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|INVALID_CA|HOSTNAME|ERR_TLS_CERT)/.test(codeOfError(error));
