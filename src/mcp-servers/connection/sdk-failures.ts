import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { type OutboundFailure, outboundFailure, ResponseTooLargeError } from '#platform/outbound';
import type { FailureKind } from '../servers/server-health';
import { isStreamEnd } from './mcp-transport';
import type { Credential } from './server-credentials';
import { excerptOf, ServerFailure } from './server-failure';

/** Returns an error and its causes, outermost first. The SDK stores some causes in `data`. */
function chainOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  let next = error;
  while (typeof next === 'object' && next !== null && chain.length < CAUSES_MAX) {
    chain.push(next);
    const { cause, data } = next as { cause?: unknown; data?: { cause?: unknown } | null };
    next = cause ?? data?.cause;
  }
  return chain;
}
const CAUSES_MAX = 10;

/** The messages for outbound failures. Messages of system errors are not shown, because they contain addresses. */
const NETWORK: Readonly<Record<OutboundFailure, readonly [FailureKind, string]>> = {
  blocked_address: [
    'blocked_address',
    'The address of the server is not public. Use a public address, or ask the operator to add it to OUTBOUND_ALLOW.',
  ],
  too_large: ['protocol', 'The responses of the server are too large.'],
  redirect: ['protocol', 'The server returned a redirect, which is not followed. Register its final URL.'],
  timeout: ['timeout', 'The server did not respond in time.'],
  tls: ['tls', 'The TLS connection failed. Use a certificate of a public authority for this host name.'],
  unreachable: ['unreachable', 'The server cannot be reached.'],
  protocol: ['protocol', 'The server did not return valid HTTP.'],
};

/** More specific messages for some errors of Node.js, OpenSSL and undici, by `code`. */
const REASONS: Readonly<Record<string, string>> = {
  ERR_SSL_WRONG_VERSION_NUMBER:
    'The server does not use TLS on this port. Register its URL with http, or use another port.',
  ECONNREFUSED: 'The server refused the connection.',
  ENOTFOUND: 'The host name of the server cannot be resolved.',
  EAI_AGAIN: 'The host name of the server cannot be resolved at the moment.',
  ECONNRESET: 'The server closed the connection.',
  UND_ERR_SOCKET: 'The server closed the connection.',
};

/** Returns the failure for a network error, or null for other errors. */
function networkFailure(error: unknown, chain: readonly unknown[]): ServerFailure | null {
  const failure = outboundFailure(error) ?? firstOf(chain, outboundFailure);
  if (failure === null) return null;
  const [kind, message] = NETWORK[failure];
  return new ServerFailure(kind, firstOf(chain, reasonOf) ?? message);
}

const MIB = 1024 * 1024;

function reasonOf(error: unknown): string | null {
  if (error instanceof ResponseTooLargeError) {
    return `The responses of the server exceed ${error.maxBytes / MIB} MiB.`;
  }
  return REASONS[String((error as { code?: unknown }).code)] ?? null;
}

/** The secrets that the service has sent to a server. They are removed from text of the server. */
export interface SentSecrets {
  credential: Credential | null;
  /** The parts of the URLs. */
  url: readonly string[];
}

/** Returns the failure for the errors of a connection, based on the first error that is recognized. */
export function failureOf(errors: readonly unknown[], sent: SentSecrets): ServerFailure {
  for (const error of errors) {
    const chain = chainOf(error);
    const failure = networkFailure(error, chain) ?? firstOf(chain, (one) => sdkFailure(one, sent));
    if (failure) return failure;
  }
  if (errors.some(isStreamEnd)) return closedEarly();
  return new ServerFailure(
    'protocol',
    'The responses of the server do not follow the Model Context Protocol.',
  );
}

const closedEarly = (): ServerFailure =>
  new ServerFailure('unreachable', 'The server closed the connection before it responded.');

/** Returns the failure for the end of an SSE stream. The status is undefined if the stream had already started. */
function streamFailure(status: number | undefined, sent: SentSecrets): ServerFailure {
  if (status === undefined) return closedEarly();
  return status < 400
    ? protocolFailure('The server did not return an event stream.')
    : statusFailure(status, sent);
}

function firstOf<Result>(chain: readonly unknown[], find: (one: unknown) => Result | null): Result | null {
  for (const one of chain) {
    const result = find(one);
    if (result) return result;
  }
  return null;
}

/** Returns the failure for an HTTP status. */
function statusFailure(status: number, sent: SentSecrets): ServerFailure {
  if (status === 401 || status === 403) {
    const message = `The server refused access (HTTP ${status}). ${remedyOf(sent)}`;
    return new ServerFailure('unauthorized', message, status);
  }
  const advice = WRONG_ADDRESS.has(status) ? ' Check the path of `url`, and `transport`.' : '';
  return new ServerFailure('protocol', `The server returned HTTP ${status}.${advice}`, status);
}

/** The statuses that servers return for a wrong path or transport. */
const WRONG_ADDRESS: ReadonlySet<number> = new Set([400, 404, 405, 406, 410, 415]);

function remedyOf({ credential, url }: SentSecrets): string {
  if (!credential && url.length > 0) return 'Check the query of `url`, or send credentials in `auth`.';
  if (!credential) return 'It requires credentials. Send them in `auth`.';
  if (credential.isIssued)
    return 'The token endpoint issued a token, so check `auth.scope` and `auth.token_url`.';
  return 'Check the secret in `auth`.';
}

/** Returns the failure for an error of the SDK. The SDK's own messages are not used, because they may contain a whole response. */
function sdkFailure(error: unknown, sent: SentSecrets): ServerFailure | null {
  const secrets = sent.credential ? [sent.credential.secret, ...sent.url] : sent.url;
  if (error instanceof ServerFailure) return error;
  if (error instanceof SdkHttpError) return statusFailure(error.status, sent);
  if (error instanceof SseError) return streamFailure(error.code, sent);
  if (error instanceof UnauthorizedError) return statusFailure(401, sent);
  if (error instanceof InsufficientScopeError) return statusFailure(403, sent);
  if (error instanceof ProtocolError) {
    if (isStreamEnd(error)) return null;
    const message = `The server returned the error ${error.code}: ${excerptOf(error.message, secrets)}`;
    return new ServerFailure('protocol', message, undefined, error.code);
  }
  if (error instanceof SdkError) return errorFailure(error, secrets);
  if (error instanceof SyntaxError) return protocolFailure('The server did not return valid JSON.');
  if (!(error instanceof Error)) return null;
  if (error.message.startsWith("Server's protocol version is not supported")) {
    return protocolFailure('The server uses an unknown version of the protocol.');
  }
  if (error.message === 'bad port') {
    return new ServerFailure(
      'blocked_address',
      'The Fetch standard blocks the port of the server. Use another port.',
    );
  }
  // Thrown by the SSE transport. The message contains the body of the response.
  const [, status] = /^Error POSTing to endpoint \(HTTP (\d{3})\)/.exec(error.message) ?? [];
  return status ? statusFailure(Number(status), sent) : null;
}

function errorFailure({ code, data }: SdkError, secrets: readonly string[]): ServerFailure | null {
  switch (code) {
    case SdkErrorCode.RequestTimeout:
      return new ServerFailure('timeout', 'The server did not respond in time.');
    case SdkErrorCode.ConnectionClosed:
      return new ServerFailure('unreachable', 'The server cannot be reached: the connection was closed.');
    case SdkErrorCode.UnsupportedResultType:
      return protocolFailure('The server requests further input, which the service cannot provide.');
    case SdkErrorCode.ClientHttpUnexpectedContent: {
      const { contentType } = (data ?? {}) as { contentType?: string | null };
      const received = contentType ? excerptOf(contentType, secrets) : 'no content type';
      return protocolFailure(`The server returned ${received} instead of JSON or an event stream.`);
    }
    default:
      return null;
  }
}

const protocolFailure = (message: string): ServerFailure => new ServerFailure('protocol', message);
