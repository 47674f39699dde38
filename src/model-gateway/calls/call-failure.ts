import { codeOfError, outboundFailure } from '#platform/outbound';
import { formatBytes, Problem, problem } from '#platform/problem';
import { errorOfText, type ReportedError } from '../formats/reported-error';
import { StreamFailure } from '../formats/stream-failure';
import { NO_USAGE, type Usage } from '../formats/usage';
import type { CallFormat } from './call.types';

/** Maximum characters of a provider's message that are passed on to the client. */
const MESSAGE_MAX = 1_000;
/** Maximum characters of an error type. */
const TYPE_MAX = 100;
/** `Retry-After` in seconds if the provider does not send one: after a rate limit, and for an account without credit. */
const RETRY_SECONDS = 1;
const QUOTA_SECONDS = 3_600;

/** The header that tells OpenAI's and Anthropic's clients not to retry, because the result would be the same. */
export const NO_RETRY = { 'X-Should-Retry': 'false' };
/** The error code of OpenAI's API for a spent budget or an account without credit. */
const NO_QUOTA = 'insufficient_quota';

/** Returns a 429 that OpenAI's and Anthropic's clients do not retry. */
export const quotaExhausted = (detail: string, seconds: number): Problem =>
  problem.rateLimited(detail, seconds).withMembers({ error_code: NO_QUOTA }, NO_RETRY);

/** Why a request to a provider failed, which decides what may follow. */
export type FailureReason =
  /** The request is at fault. No target would accept it. */
  | 'rejected'
  /** The target cannot answer the request, now or later. Another target may. */
  | 'refused'
  /** The same target may answer after a while. */
  | 'rate_limited'
  | 'failed'
  /** The target did not respond in time. Another target is called at once. */
  | 'timeout'
  /** The answer is too large to read, and would be as large again. */
  | 'too_large';

export interface FailureDetails {
  /** The status of the provider's response, if it is an error. */
  status?: number;
  reported?: ReportedError;
  /** `Retry-After` of the provider, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** Undefined if the provider has done no work. */
  lost?: LostAnswer | undefined;
}

/** An answer that cannot be used, but that the provider may charge. */
export interface LostAnswer {
  /** The usage that the answer reports. */
  usage: Usage;
  /** The size of the answer. Null if it is too large to read. */
  bytes: number | null;
}

const NOTHING_RECEIVED: LostAnswer = { usage: NO_USAGE, bytes: 0 };
export const UNREAD: LostAnswer = { usage: NO_USAGE, bytes: null };

/** A failed request to a provider. */
export class CallFailure extends Error {
  /** Why a caller with retries gave up, as a sentence. */
  conclusion = '';

  /**
   * @param predicate what the provider did, such as `returned status 500`
   * @param problem the problem for the client if no other target answers
   */
  constructor(
    readonly reason: FailureReason,
    readonly predicate: string,
    readonly problem: Problem,
    readonly details: FailureDetails = {},
  ) {
    super(problem.detail, { cause: problem });
    this.name = 'CallFailure';
  }
}

/**
 * Returns the answer that is lost because of an error, or undefined if the provider has done no work.
 *
 * @param error the error of a request that was sent
 */
export const lostAnswerOf = (error: unknown): LostAnswer | undefined =>
  error instanceof CallFailure ? error.details.lost : NOTHING_RECEIVED;

/** The provider that failed. */
export interface FailedProvider {
  name: string;
  /** The key to remove from its messages. */
  apiKey: string | null;
}

/**
 * Returns the failure for an error response of a provider.
 *
 * @param text the body of the response
 */
export function errorResponse(
  provider: FailedProvider,
  status: number,
  text: string,
  retryAfterMs: number | undefined,
): CallFailure {
  const reported = sanitizedError(errorOfText(text), provider);
  const predicate = `returned status ${status}`;
  const isQuota = text.includes(NO_QUOTA);
  const [reason, cause] = reactionTo(provider.name, { status, predicate, reported, isQuota, retryAfterMs });
  return new CallFailure(reason, predicate, cause, { status, reported, retryAfterMs });
}

/**
 * Returns the failure for an error that a provider reported in a response with status 200. The next target is called for every
 * error, because some servers report their own errors as errors of the request.
 *
 * @param lost what the provider has counted nevertheless
 */
export function reportedFailure(
  provider: FailedProvider,
  error: ReportedError,
  lost?: LostAnswer,
  predicate = 'returned an error',
): CallFailure {
  const reported = sanitizedError(error, provider);
  const { code, type } = reported;
  const status = statusOf(reported);
  const isQuota = code === NO_QUOTA || type === NO_QUOTA;
  const error200 = { status, predicate, reported, isQuota, retryAfterMs: undefined };
  const [reason, cause] = reactionTo(provider.name, error200);
  const isCounted = lost && (lost.usage.inputTokens !== null || lost.usage.outputTokens !== null);
  return new CallFailure(reason === 'rejected' ? 'refused' : reason, predicate, cause, {
    status,
    reported,
    lost: isCounted ? lost : undefined,
  });
}

/** The statuses of errors by their types and codes. */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  BadRequestError: 400,
  context_length_exceeded: 400,
  authentication_error: 401,
  invalid_api_key: 401,
  permission_error: 403,
  not_found_error: 404,
  model_not_found: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  [NO_QUOTA]: 429,
};

/** Returns the status that an error in a response with status 200 should have had. */
function statusOf({ code, type }: ReportedError): number {
  if (/^[45]\d\d$/.test(code)) return Number(code);
  const known = [type, code].find((one) => Object.hasOwn(STATUSES, one));
  return known === undefined ? 500 : STATUSES[known]!;
}

interface ProviderError {
  status: number;
  /** What the provider did. */
  predicate: string;
  reported: ReportedError;
  isQuota: boolean;
  retryAfterMs: number | undefined;
}

/** Returns what may follow an error of a provider, and the problem for the client. */
function reactionTo(name: string, error: ProviderError): [FailureReason, Problem] {
  const { status, predicate, reported, isQuota, retryAfterMs } = error;
  const because = reported.message === '' ? '.' : `: ${reported.message}`;
  switch (status) {
    case 400:
    case 405:
    case 413:
    case 415:
    case 422: {
      const code = status === 413 ? 'payload_too_large' : 'invalid_request';
      const detail = `The provider ${name} rejected the request${because}`;
      return ['rejected', new Problem(code, detail, UPSTREAM)];
    }
    // the message of 401 and 403 is left out, because it may repeat the key
    case 401:
      return [
        'refused',
        permanent(`The provider ${name} rejected its stored API key (401). Set \`api_key\` again.`),
      ];
    case 403:
      return [
        'refused',
        permanent(
          `The provider ${name} denied access (403). Set \`api_key\` again, or allow the key to use the model.`,
        ),
      ];
    case 404:
      return [
        'refused',
        permanent(`The provider ${name} does not know the model or the operation (404)${because}`),
      ];
    case 429: {
      if (!isQuota) return ['rate_limited', limited(name, because, retryAfterMs)];
      const detail = `The account at the provider ${name} has no credit left (429)${because}`;
      return ['refused', quotaExhausted(detail, secondsOf(retryAfterMs, QUOTA_SECONDS))];
    }
    default:
      return status === 408 || status === 409 || status === 425 || status >= 500
        ? ['failed', unavailable(`The provider ${name} ${predicate}${because}`)]
        : ['refused', unavailable(`The provider ${name} ${predicate}.`)];
  }
}

/** Returns the failure for a request that could not be sent, or whose response broke off. */
export function connectionFailure(name: string, error: unknown): CallFailure {
  const failure = outboundFailure(error);
  switch (failure) {
    case 'blocked_address':
      return new CallFailure(
        'refused',
        'has an address that is not public',
        new Problem(
          'forbidden',
          `The address of the provider ${name} is not public. Use a public address, or ask the operator to add it to OUTBOUND_ALLOW.`,
          UPSTREAM,
        ),
      );
    case 'timeout':
      return neverConnected(error)
        ? new CallFailure('timeout', 'cannot be reached in time', noResponse(name))
        : timeoutFailure(name);
    case 'unreachable':
      return isClosedConnection(error)
        ? failed(name, 'closed the connection before its answer was complete', NOTHING_RECEIVED, error)
        : failed(name, 'cannot be reached', undefined, error);
    case null:
      throw error;
    default: {
      const predicate = FAULTS[failure];
      return new CallFailure('refused', predicate, unavailable(`The provider ${name} ${predicate}.`, error));
    }
  }
}

const FAULTS = {
  tls: 'cannot be reached over TLS',
  protocol: 'did not return valid HTTP',
  too_large: 'returned too many bytes',
  redirect: 'returned a redirect, which is not followed',
} as const;

/** Tells whether the time to connect was exceeded, so that nothing was sent. */
const neverConnected = (error: unknown): boolean =>
  /^(?:UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/.test(codeOfError(error));

const isClosedConnection = (error: unknown): boolean =>
  /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(codeOfError(error));

/** Returns the failure for a provider that did not respond in time. */
export const timeoutFailure = (name: string, timeoutMs?: number): CallFailure =>
  new CallFailure(
    'timeout',
    `did not respond ${timeoutMs === undefined ? 'in time' : `within ${timeoutMs / 1000} s`}`,
    noResponse(name),
    { lost: NOTHING_RECEIVED },
  );

const noResponse = (name: string): Problem =>
  new Problem('request_timeout', `The provider ${name} did not respond in time.`, UPSTREAM);

/** Returns the failure for an answer that cannot be used. @param predicate such as `did not return JSON` */
export const unusableAnswer = (name: string, predicate: string, lost = NOTHING_RECEIVED): CallFailure =>
  failed(name, predicate, lost);

export const answerTooLarge = (name: string, maxBytes: number, lost = UNREAD): CallFailure => {
  const predicate = `returned more than ${formatBytes(maxBytes)}`;
  return new CallFailure('too_large', predicate, unavailable(`The provider ${name} ${predicate}.`), { lost });
};

/** Returns the failure for a target that cannot be called before it is changed. */
export const targetUnavailable = (detail: string): CallFailure =>
  new CallFailure('refused', 'cannot be called', permanent(detail));

/** Statuses of problems in the request. */
const REQUEST_STATUSES: ReadonlySet<number> = new Set([400, 413]);

/** Tells whether a failure says something about its target, so that the target may rest. All others are due to the request. */
export function isTargetFault(
  { reason, problem: { status }, details }: CallFailure,
  format: CallFormat,
): boolean {
  if (reason === 'rejected' || reason === 'too_large' || REQUEST_STATUSES.has(status)) return false;
  // many servers have only some of the operations
  return details.status !== 404 || format === 'chat' || format === 'messages';
}

/** Returns the failure for a stream whose first event is an error or cannot be used. */
export const firstEventFailure = (provider: FailedProvider, failure: StreamFailure): CallFailure =>
  reportedFailure(provider, errorIn(failure), undefined, 'did not start its response');

/** Returns a stream failure that clients may see: shortened, and without the API key of the provider. */
export function sanitizedFailure(failure: StreamFailure, provider: FailedProvider): StreamFailure {
  const { type, message, code } = sanitizedError(errorIn(failure), provider);
  return new StreamFailure(type, message, code);
}

const errorIn = ({ type, message, code }: StreamFailure): ReportedError => ({
  type,
  message,
  code,
  parameter: '',
});

const UPSTREAM = { isUpstream: true };

const unavailable = (detail: string, cause?: unknown): Problem =>
  problem.unavailable(detail, { isUpstream: true, cause });

/** Returns a 503 that lasts until the provider or the model is changed. */
const permanent = (detail: string): Problem =>
  problem.unavailable(detail, { isUpstream: true, headers: NO_RETRY });

const failed = (name: string, predicate: string, lost?: LostAnswer, cause?: unknown): CallFailure =>
  new CallFailure('failed', predicate, unavailable(`The provider ${name} ${predicate}.`, cause), { lost });

function limited(name: string, because: string, retryAfterMs: number | undefined): Problem {
  return problem.rateLimited(
    `The provider ${name} rejected the request because of a limit (429)${because}`,
    secondsOf(retryAfterMs, RETRY_SECONDS),
  );
}

const secondsOf = (retryAfterMs: number | undefined, min: number): number =>
  Math.max(min, Math.ceil((retryAfterMs ?? 0) / 1000));

/** Returns an error that clients may see: shortened, and without the API key of the provider. */
function sanitizedError(error: ReportedError, { apiKey }: FailedProvider): ReportedError {
  const sanitize = (text: string): string => (apiKey === null ? text : text.replaceAll(apiKey, '…'));
  return {
    message: sanitize(error.message).slice(0, MESSAGE_MAX),
    parameter: sanitize(error.parameter).slice(0, TYPE_MAX),
    code: sanitize(error.code).slice(0, TYPE_MAX),
    type: sanitize(error.type).slice(0, TYPE_MAX),
  };
}
