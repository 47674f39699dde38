import { WaitTimeout } from '#platform/concurrency';

/** The reason why an outbound call failed. */
export type OutboundFailure =
  /** The address must not be called for a tenant. */
  | 'blocked_address'
  /** A body or a header exceeded its limit. */
  | 'too_large'
  /** The server responded with a redirect, which is never followed. */
  | 'redirect'
  /** A deadline passed. */
  | 'timeout'
  /** No secure connection: an invalid certificate, or no common version of TLS. */
  | 'tls'
  /** The name does not resolve, nothing listens, or the connection broke. */
  | 'unreachable'
  /** The server does not speak valid HTTP. */
  | 'protocol';

/** A call that this service blocked or aborted. The message contains nothing that the caller did not send. */
export abstract class OutboundError extends Error {
  abstract readonly failure: OutboundFailure;
}

/** The address must not be called. The message does not name the addresses of a host, because names can be internal. */
export class BlockedAddressError extends OutboundError {
  override readonly name = 'BlockedAddressError';
  readonly failure = 'blocked_address';
}

/** The bodies of an operation's responses have more bytes than allowed. */
export class ResponseTooLargeError extends OutboundError {
  override readonly name = 'ResponseTooLargeError';
  readonly failure = 'too_large';

  constructor(readonly maxBytes: number) {
    super(`The responses exceed ${maxBytes} bytes.`);
  }
}

/** The server responded with a redirect. The message does not name its target, which the server chose. */
export class RedirectRefusedError extends OutboundError {
  override readonly name = 'RedirectRefusedError';
  readonly failure = 'redirect';

  constructor(readonly status: number) {
    super(`The server responded with a redirect (${status}), and redirects are not followed.`);
  }
}

/** The response is not valid HTTP. */
export class InvalidResponseError extends OutboundError {
  override readonly name = 'InvalidResponseError';
  readonly failure = 'protocol';
}

/**
 * Returns the reason why a call failed, or null for an error of another kind, such as an abort by the caller. Also searches
 * `cause` and `errors`, because `fetch` and clients built on it wrap errors.
 *
 * Do not show the messages of system errors to callers: they contain the addresses of hosts.
 */
export function outboundFailure(error: unknown): OutboundFailure | null {
  for (const one of causesOf(error)) {
    const failure = failureOf(one);
    if (failure !== null) return failure;
  }
  return null;
}

/** Returns the code of an error, or of the first of its causes that has one. */
export function codeOfError(error: unknown): string {
  for (const { code } of causesOf(error)) if (typeof code === 'string') return code;
  return '';
}

interface Failure {
  name?: unknown;
  code?: unknown;
  cause?: unknown;
  errors?: unknown;
}

/** Yields an error and its causes, each once. */
function* causesOf(error: unknown): Generator<Failure, void, undefined> {
  const seen = new Set<unknown>();
  const queue = [error];
  while (queue.length > 0 && seen.size < 32) {
    const next = queue.shift();
    if (typeof next !== 'object' || next === null || seen.has(next)) continue;
    seen.add(next);
    yield next;
    const { cause, errors } = next as Failure;
    queue.push(cause, ...(Array.isArray(errors) ? (errors as unknown[]).slice(0, 8) : []));
  }
}

function failureOf(error: Failure): OutboundFailure | null {
  if (error instanceof OutboundError) return error.failure;
  const { name, code } = error;
  if (name === 'TimeoutError' || error instanceof WaitTimeout) return 'timeout';
  if (name === 'HTTPParserError') return 'protocol'; // may have no code
  if (typeof code !== 'string') return null;
  for (const [failure, codes] of CODES) if (codes.test(code)) return failure;
  return null;
}

/** Codes of undici, Node, OpenSSL and the operating system. */
const CODES: readonly (readonly [OutboundFailure, RegExp])[] = [
  ['timeout', /^(?:ETIMEDOUT|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT)$/],
  ['too_large', /^UND_ERR_(?:HEADERS_OVERFLOW|RES_EXCEEDED_MAX_SIZE)$/],
  ['protocol', /^(?:HPE_\w+|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|Z_\w+|ERR_BROTLI_\w+|ERR__ERROR_\w+)$/],
  [
    'tls',
    /^(?:EPROTO|(?:ERR_TLS|ERR_SSL|ERR_OSSL|CERT|CRL|UNABLE_TO|ERROR_IN_C|SELF_SIGNED|DEPTH_ZERO|INVALID_(?:CA|PURPOSE)|PATH_LENGTH)\w*|HOSTNAME_MISMATCH)$/,
  ],
  [
    'unreachable',
    /^(?:UND_ERR_SOCKET|EAI_\w+|ENOTFOUND|ENODATA|ECONN\w+|EPIPE|EHOST\w+|ENET\w+|EADDRNOTAVAIL|EACCES|EPERM|EINVAL)$/,
  ],
];
