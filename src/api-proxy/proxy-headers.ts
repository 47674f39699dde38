import type { IncomingMessage } from 'node:http';

/** Name and value by turns, as Node reads them. */
export type RawHeaders = readonly string[];

/** Headers of one connection (RFC 9110, section 7.6.1), and those that frame its messages. */
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

/** Request headers that are for this service. */
const OF_THE_SERVICE = ['authorization', 'cookie', 'expect', 'host', 'x-service-workspace-id'];

/** Statements about the way of a request, which this service makes itself, besides `X-Forwarded-…`. */
const FORWARDING = [
  'cf-connecting-ip',
  'forwarded',
  'traceparent',
  'true-client-ip',
  'via',
  'x-original-host',
  'x-original-uri',
  'x-original-url',
  'x-real-ip',
  'x-rewrite-url',
];

/** Trailers of requests are not forwarded. */
const DROPPED_REQUEST: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  ...OF_THE_SERVICE,
  ...FORWARDING,
  'trailer',
]);
/** `Proxy-Status` is replaced by one that has this hop too. */
const DROPPED_RESPONSE: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'proxy-status']);

/** Headers that a trailer must not have (RFC 9110, section 6.5.1). */
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

/** This service in `Via` and `Proxy-Status`. */
export const PROXY_NAME = 'agent-registry';

/** How often a request may pass through services of this name, which may be more than one. */
const PASSES_MAX = 3;

/** Returns whether `Via` shows that a request goes round in circles, as through an API whose base URL is that of the proxy. */
export const isLoop = (via: string | string[] | undefined): boolean =>
  String(via ?? '').split(PROXY_NAME).length > PASSES_MAX;

/** How the service reached the request. */
export interface Hop {
  httpVersion: string;
  /** The client's address. */
  address: string | undefined;
  proto: string;
  host: string;
  /** Undefined if tracing adds it. */
  traceparent: string | undefined;
}

/** Returns the headers of the request to an upstream. @param own headers that replace those of the client */
export function requestHeaders(
  { rawHeaders: given, headers: { connection, te } }: Pick<IncomingMessage, 'rawHeaders' | 'headers'>,
  own: ReadonlyMap<string, string>,
  hop: Hop,
): string[] {
  const named = connectionOptions(connection);
  const headers: string[] = [];
  let via = '';
  for (let at = 0; at < given.length; at += 2) {
    const name = given[at]!.toLowerCase();
    if (name === 'via') via += `${given[at + 1]!}, `;
    if (DROPPED_REQUEST.has(name) || named.has(name) || own.has(name) || name.startsWith('x-forwarded-'))
      continue;
    headers.push(given[at]!, given[at + 1]!);
  }
  for (const [name, value] of own) headers.push(name, value);
  headers.push('via', `${via}${hop.httpVersion} ${PROXY_NAME}`);
  if (hop.address !== undefined) headers.push('x-forwarded-for', hop.address);
  headers.push('x-forwarded-proto', hop.proto, 'x-forwarded-host', hop.host);
  if (hop.traceparent !== undefined) headers.push('traceparent', hop.traceparent);
  if (te !== undefined && /(?:^|,)\s*trailers\s*(?:,|;|$)/i.test(String(te))) headers.push('te', 'trailers');
  return headers;
}

/**
 * Returns the end-to-end headers of an upstream's response, as it sent them, and what this hop says about it.
 *
 * @param canHaveTrailers whether `Trailer` is kept, which Node refuses to send where no trailers can follow
 */
export function responseHeaders(given: RawHeaders, status: number, canHaveTrailers: boolean): string[] {
  const named = connectionOptions(valueOf(given, 'connection'));
  const headers: string[] = [];
  let before = '';
  for (let at = 0; at < given.length; at += 2) {
    const name = given[at]!.toLowerCase();
    if (name === 'proxy-status') before += `${given[at + 1]!}, `;
    if (name === 'trailer' && !canHaveTrailers) continue;
    if (!DROPPED_RESPONSE.has(name) && !named.has(name)) headers.push(given[at]!, given[at + 1]!);
  }
  headers.push(
    'Via',
    `1.1 ${PROXY_NAME}`,
    'Proxy-Status',
    `${before}${PROXY_NAME}; received-status=${status}`,
  );
  return headers;
}

/** Returns the trailers of an upstream's response that can be passed on. */
export const trailersOf = (given: RawHeaders): [string, string][] => {
  const kept = filtered(given, (name) => !NOT_IN_TRAILERS.has(name));
  return kept.flatMap((name, at) => (at % 2 === 0 ? [[name, kept[at + 1]!] as [string, string]] : []));
};

/** Returns the values of a header joined as a list, or undefined. */
export function valueOf(given: RawHeaders, sought: string): string | undefined {
  const values = given.filter((_, at) => at % 2 === 1 && given[at - 1]!.toLowerCase() === sought);
  return values.length > 0 ? values.join(', ') : undefined;
}

function filtered(given: RawHeaders, isKept: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let at = 0; at < given.length; at += 2) {
    if (isKept(given[at]!.toLowerCase())) kept.push(given[at]!, given[at + 1]!);
  }
  return kept;
}

/** Returns the names in `Connection`, which are for this hop alone. */
function connectionOptions(value: string | undefined): ReadonlySet<string> {
  if (value === undefined || /^(?:keep-alive|close)$/i.test(value)) return NO_NAMES;
  const names = value
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  // the length of a body is not for the hop alone, whatever a client says
  return new Set(names.filter((name) => name !== 'content-length'));
}
const NO_NAMES: ReadonlySet<string> = new Set();
