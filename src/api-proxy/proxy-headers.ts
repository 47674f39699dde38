import type { IncomingMessage } from 'node:http';
import { isForwardableRetryAfter } from '#platform/outbound';

/** Alternating names and values, as Node provides them. */
type RawHeaders = readonly string[];

/** Headers that apply to one connection (RFC 9110, section 7.6.1) or frame its messages. */
const HOP_BY_HOP = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
];

/** Request headers that are meant for this service. */
const SERVICE_HEADERS = ['authorization', 'cookie', 'expect', 'host', 'x-service-workspace-id'];

/** Headers that describe a request's path through proxies. This service sets its own, as it does for `X-Forwarded-…`. */
const FORWARDING = [
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-pseudo-ipv4',
  'client-ip',
  'cluster-client-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'forwarded',
  'forwarded-for',
  'forwarded-for-ip',
  'incap-client-ip',
  'proxy-client-ip',
  'traceparent',
  'true-client-ip',
  'via',
  'wl-proxy-client-ip',
  'x-appengine-user-ip',
  'x-azure-clientip',
  'x-azure-socketip',
  'x-backend-host',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'x-envoy-original-path',
  'x-forward-for',
  'x-host',
  'x-http-host-override',
  'x-nf-client-connection-ip',
  'x-original-forwarded-for',
  'x-original-host',
  'x-original-uri',
  'x-original-url',
  'x-originating-ip',
  'x-proxyuser-ip',
  'x-real-ip',
  'x-remote-addr',
  'x-remote-ip',
  'x-rewrite-url',
  'x-sucuri-clientip',
  'x-vercel-forwarded-for',
];

/** Headers that replace the method, which `allowed_methods` of the API limits. */
const METHOD_OVERRIDES = [
  'http-method-override',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-method',
];

/** Includes `Trailer`, because trailers of requests are not forwarded. */
const DROPPED_REQUEST: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  ...SERVICE_HEADERS,
  ...FORWARDING,
  ...METHOD_OVERRIDES,
  'trailer',
]);
/** Includes `Proxy-Status`, which is replaced by one that also names this hop. */
const DROPPED_RESPONSE: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'proxy-status']);

/** Fields that are not allowed in trailers (RFC 9110, section 6.5.1). */
const NOT_IN_TRAILERS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'host',
  'set-cookie',
  'trailer',
]);

/** The name of this service in `Via` and `Proxy-Status`. */
export const PROXY_NAME = 'agent-registry';

/** How often a request may pass through services of this name. Above 1, because deployments may call each other. */
const PASSES_MAX = 3;

/** Returns whether `Via` shows a forwarding loop, such as through an API whose base URL is this proxy. */
export const isLoop = (via: string | string[] | undefined): boolean =>
  String(via ?? '').split(PROXY_NAME).length > PASSES_MAX;

/** How the request reached this service. */
export interface Hop {
  httpVersion: string;
  /** The client's address. */
  address: string | undefined;
  proto: string;
  /** The host of this service. Undefined if it is unknown. */
  host: string | undefined;
  /** Undefined if tracing adds the header. */
  traceparent: string | undefined;
}

/** Names that every server reads in the same way. Many read `_` and other characters as `-`. */
const PLAIN_NAME = /^[a-z0-9-]+$/;

/** Returns a name in lower case as servers read it that turn names into variables, such as CGI and WSGI. */
export const dashedName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9-]/g, '-');

/**
 * Returns the headers of the request to an upstream. Drops headers whose names have other characters than letters, digits
 * and dashes, because an upstream could read `X_Api_Key` as the credential `X-Api-Key`.
 *
 * @param own headers that replace the client's, and their names with dashes
 */
export function requestHeaders(
  { rawHeaders: raw, headers: { connection, te } }: Pick<IncomingMessage, 'rawHeaders' | 'headers'>,
  own: { headers: ReadonlyMap<string, string>; names: ReadonlySet<string> },
  hop: Hop,
): string[] {
  const hopOnly = connectionOptions(connection);
  const headers: string[] = [];
  let via = '';
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase();
    if (name === 'via') via += `${raw[at + 1]!}, `;
    if (DROPPED_REQUEST.has(name) || hopOnly.has(name) || own.names.has(name)) continue;
    if (name.startsWith('x-forwarded') || !PLAIN_NAME.test(name)) continue;
    headers.push(raw[at]!, raw[at + 1]!);
  }
  for (const [name, value] of own.headers) headers.push(name, value);
  headers.push('via', `${via}${hop.httpVersion} ${PROXY_NAME}`);
  if (hop.address !== undefined) headers.push('x-forwarded-for', hop.address);
  headers.push('x-forwarded-proto', hop.proto);
  if (hop.host !== undefined) headers.push('x-forwarded-host', hop.host);
  if (hop.traceparent !== undefined) headers.push('traceparent', hop.traceparent);
  if (te !== undefined && /(?:^|,)\s*trailers\s*(?:,|;|$)/i.test(String(te))) headers.push('te', 'trailers');
  return headers;
}

/**
 * Returns the end-to-end headers of an upstream's response as sent, plus this hop's `Via` and `Proxy-Status`, and the id of
 * the request unless the upstream sent one. Decodes latin1, because the encoding is unknown and latin1 keeps every byte.
 *
 * @param takesTrailers whether the client can receive trailers after a body without a length. Node refuses to send
 *   `Trailer` elsewhere.
 */
export function responseHeaders(
  raw: readonly Buffer[],
  status: number,
  requestId: string,
  takesTrailers: boolean,
): string[] {
  const texts = textsOf(raw);
  const names = texts.map((text, at) => (at % 2 === 0 ? text.toLowerCase() : ''));
  const hopOnly = names.includes('connection') ? connectionOptions(valueOf(texts, 'connection')) : NO_NAMES;
  const dropsTrailer = !takesTrailers || names.includes('content-length');
  const headers: string[] = [];
  let earlierStatus = '';
  for (let at = 0; at < texts.length; at += 2) {
    const name = names[at]!;
    if (name === 'proxy-status') earlierStatus += `${texts[at + 1]!}, `;
    if (DROPPED_RESPONSE.has(name) || hopOnly.has(name) || (dropsTrailer && name === 'trailer')) continue;
    // clients compute with it, and wait forever or not at all for `Infinity`
    if (name === 'retry-after' && !isForwardableRetryAfter(texts[at + 1]!)) continue;
    headers.push(texts[at]!, texts[at + 1]!);
  }
  headers.push('Via', `1.1 ${PROXY_NAME}`);
  headers.push('Proxy-Status', `${earlierStatus}${PROXY_NAME}; received-status=${status}`);
  if (!names.includes('x-request-id')) headers.push('X-Request-Id', requestId);
  return headers;
}

/** Returns the trailers of an upstream's response that may be forwarded. */
export function trailersOf(raw: readonly (Buffer | string)[]): [string, string][] {
  const texts = textsOf(raw);
  return texts.flatMap((name, at): [string, string][] =>
    at % 2 === 0 && !NOT_IN_TRAILERS.has(name.toLowerCase()) ? [[name, texts[at + 1]!]] : [],
  );
}

const textsOf = (raw: readonly (Buffer | string)[]): string[] =>
  raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));

/** Returns the values of a header, joined with commas. */
const valueOf = (raw: RawHeaders, name: string): string =>
  raw.filter((_, at) => at % 2 === 1 && raw[at - 1]!.toLowerCase() === name).join(', ');

/** Returns the header names in `Connection`, which apply to this hop only. */
function connectionOptions(value: string | undefined): ReadonlySet<string> {
  if (value === undefined || /^(?:keep-alive|close)$/i.test(value)) return NO_NAMES;
  const names = value
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  // a client must not remove the length of its body this way
  return new Set(names.filter((name) => name !== 'content-length'));
}
const NO_NAMES: ReadonlySet<string> = new Set();
