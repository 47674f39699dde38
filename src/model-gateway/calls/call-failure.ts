import { codeOfError, outboundFailure } from '#platform/outbound';
import { formatBytes, Problem, problem } from '#platform/problem';
import type { ReportedError } from '../formats/reported-error';
import { NO_USAGE, type Usage } from '../formats/usage';
import type { CallFormat } from './call.types';

/** The header that tells OpenAI's and Anthropic's clients not to retry, because the result would be the same. */
export const NO_RETRY = { 'X-Should-Retry': 'false' };
/** The error code of OpenAI's API for a spent budget or an account without credit. */
export const NO_QUOTA = 'insufficient_quota';

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
  /** The reported usage of an answer that cannot be used, but may be charged. Undefined if the provider charges nothing. */
  lost?: Usage | undefined;
}

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
 * Returns the reported usage of the answer that is lost because of an error, or undefined if the provider charges nothing.
 *
 * @param error the error of a request that was sent
 */
export const lostUsageOf = (error: unknown): Usage | undefined =>
  error instanceof CallFailure ? error.details.lost : NO_USAGE;

/** The provider that failed. */
export interface FailedProvider {
  name: string;
  /** The key to remove from its messages. */
  apiKey: string | null;
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
        ? failed(name, 'closed the connection before its answer was complete', NO_USAGE, error)
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
    { lost: NO_USAGE },
  );

const noResponse = (name: string): Problem =>
  new Problem('request_timeout', `The provider ${name} did not respond in time.`, UPSTREAM);

/** Returns the failure for an answer that cannot be used. @param predicate such as `did not return JSON` */
export const unusableAnswer = (name: string, predicate: string, lost = NO_USAGE): CallFailure =>
  failed(name, predicate, lost);

export const answerTooLarge = (name: string, maxBytes: number, lost = NO_USAGE): CallFailure => {
  const predicate = `returned more than ${formatBytes(maxBytes)}`;
  return new CallFailure('too_large', predicate, unavailable(`The provider ${name} ${predicate}.`), { lost });
};

/** Returns the failure for a target that cannot be called before it is changed. */
export const targetUnavailable = (detail: string): CallFailure =>
  new CallFailure('refused', 'cannot be called', permanent(detail));

/** Statuses of problems in the request. */
const REQUEST_STATUSES: ReadonlySet<number> = new Set([400, 413]);

/** Tells whether a failure says something about its target, so that it counts towards a cooldown. All others are due to the request. */
export function isTargetFault(
  { reason, problem: { status }, details }: CallFailure,
  format: CallFormat,
): boolean {
  if (reason === 'rejected' || reason === 'too_large' || REQUEST_STATUSES.has(status)) return false;
  // many servers have only some of the operations
  return details.status !== 404 || format === 'chat' || format === 'messages';
}

/** The options of a problem of a provider. */
export const UPSTREAM = { isUpstream: true };

export const unavailable = (detail: string, cause?: unknown): Problem =>
  problem.unavailable(detail, { isUpstream: true, cause });

/** Returns a 503 that lasts until the provider or the model is changed. */
export const permanent = (detail: string): Problem =>
  problem.unavailable(detail, { isUpstream: true, headers: NO_RETRY });

const failed = (name: string, predicate: string, lost?: Usage, cause?: unknown): CallFailure =>
  new CallFailure('failed', predicate, unavailable(`The provider ${name} ${predicate}.`, cause), { lost });
