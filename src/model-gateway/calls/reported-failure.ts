import { Problem, problem } from '#platform/problem';
import { errorOfText, type ReportedError } from '../formats/reported-error';
import { StreamFailure, TOO_LARGE } from '../formats/stream-failure';
import { NO_USAGE, type Usage } from '../formats/usage';
import {
  CallFailure,
  type FailedProvider,
  type FailureReason,
  isTargetFault,
  NO_QUOTA,
  permanent,
  quotaExhausted,
  unavailable,
  UPSTREAM,
} from './call-failure';
import type { CallFormat } from './call.types';

/** Maximum characters of a provider's message that are passed on to the client. */
const MESSAGE_MAX = 1_000;
/** Maximum characters of an error type. */
const TYPE_MAX = 100;
/** `Retry-After` in seconds if the provider does not send one: after a rate limit, and for an account without credit. */
const RETRY_SECONDS = 1;
const QUOTA_SECONDS = 3_600;

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
 * @param lost the usage that the provider may charge nevertheless
 */
export function reportedFailure(
  provider: FailedProvider,
  error: ReportedError,
  lost?: Usage,
  predicate = 'returned an error',
): CallFailure {
  const reported = sanitizedError(error, provider);
  const { code, type } = reported;
  const status = statusOf(reported);
  const isQuota = code === NO_QUOTA || type === NO_QUOTA;
  const error200 = { status, predicate, reported, isQuota, retryAfterMs: undefined };
  const [reason, cause] = reactionTo(provider.name, error200);
  return new CallFailure(reason === 'rejected' ? 'refused' : reason, predicate, cause, {
    status,
    reported,
    lost,
  });
}

/** The statuses of errors by their types and codes. */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  BadRequestError: 400,
  context_length_exceeded: 400,
  invalid_prompt: 400,
  invalid_image: 400,
  content_filter: 400,
  content_policy_violation: 400,
  image_content_policy_violation: 400,
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

/** Returns the failure for a stream whose first event is an error or cannot be used. */
export const firstEventFailure = (provider: FailedProvider, failure: StreamFailure): CallFailure =>
  reportedFailure(
    provider,
    errorIn(failure),
    failure.isReported ? undefined : NO_USAGE,
    'did not start its response',
  );

/** Tells whether a stream failed because of its target, not because of the request or a limit of the gateway. */
export const isStreamFault = (failure: StreamFailure, format: CallFormat): boolean =>
  failure.code !== TOO_LARGE && isTargetFault(firstEventFailure(NO_SENDER, failure), format);

const NO_SENDER: FailedProvider = { name: '', apiKey: null };

/** Returns a stream failure that clients may see: shortened, and without the API key of the provider. */
export function sanitizedFailure(failure: StreamFailure, provider: FailedProvider): StreamFailure {
  const { type, message, code } = sanitizedError(errorIn(failure), provider);
  return new StreamFailure(type, message, code, failure.isReported);
}

const errorIn = ({ type, message, code }: StreamFailure): ReportedError => ({
  type,
  message,
  code,
  parameter: '',
});

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
