import { outboundFailure } from '#platform/outbound';
import { Problem, problem } from '#platform/problem';
import { isObject, nameOf, objectOf, parsedObject } from '../formats/json-shape';
import { StreamFailure } from '../formats/stream-failure';
import { NO_RETRY } from '../spending/no-retry';
import { CallFailure } from './call-failure';

/** Maximum characters of a provider's message that are passed on to the client. */
const MESSAGE_MAX = 1_000;
/** Maximum characters of an error type. */
const TYPE_MAX = 100;

/** `Retry-After` in seconds if the provider does not send one. */
const RETRY_SECONDS = 1;

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
  { name, apiKey }: FailedProvider,
  status: number,
  text: string,
  retryAfterMs: number | undefined,
): CallFailure {
  const message = messageOf(text, apiKey);
  const because = message === '' ? '.' : `: ${message}`;
  switch (status) {
    case 400:
    case 405:
    case 415:
    case 422:
      return requestFailure(
        new Problem('invalid_request', `The provider ${name} rejected the request${because}`, upstream()),
      );
    case 413:
      return requestFailure(
        new Problem('payload_too_large', `The provider ${name} rejected the request${because}`, upstream()),
      );
    case 401:
    case 403:
      // the message is left out, because it may repeat the key
      return targetFailure(
        permanent(`The provider ${name} rejected its stored API key (${status}). Set \`api_key\` again.`),
      );
    case 404:
      return targetFailure(
        permanent(`The provider ${name} does not know the model or the operation (404)${because}`),
      );
    case 429:
      return rateLimited(name, because, retryAfterMs, !/insufficient_quota/.test(text));
    default:
      return status === 408 || status === 409 || status === 425 || status >= 500
        ? new CallFailure(
            unavailable(`The provider ${name} returned status ${status}${because}`),
            true,
            true,
            retryAfterMs,
          )
        : targetFailure(unavailable(`The provider ${name} returned status ${status}.`));
  }
}

/** Returns the failure for a request that could not be sent, or whose response broke off. */
export function connectionFailure({ name }: FailedProvider, error: unknown): CallFailure {
  const failure = outboundFailure(error);
  if (failure === 'blocked_address') {
    return targetFailure(
      new Problem(
        'forbidden',
        `The address of the provider ${name} is not public. Use a public address, or ask the operator to add it to OUTBOUND_ALLOW.`,
        upstream(),
      ),
    );
  }
  if (failure === 'timeout') return timeoutFailure(name);
  const predicates: Partial<Record<NonNullable<typeof failure>, string>> = {
    tls: 'cannot be reached over TLS',
    protocol: 'did not return valid HTTP',
    too_large: 'returned too many bytes',
    redirect: 'returned a redirect, which is not followed',
    unreachable: 'cannot be reached, or closed the connection',
  };
  if (failure === null) throw error;
  return new CallFailure(
    unavailable(`The provider ${name} ${predicates[failure]}.`, error),
    failure === 'unreachable',
    true,
  );
}

/** Returns the failure for a provider that did not respond in time. The next target is called at once. */
export const timeoutFailure = (name: string): CallFailure =>
  targetFailure(new Problem('request_timeout', `The provider ${name} did not respond in time.`, upstream()));

/** Returns the failure for an answer that cannot be used. @param fault a predicate, such as `did not return JSON` */
export const unusableAnswer = (name: string, fault: string): CallFailure =>
  new CallFailure(unavailable(`The provider ${name} ${fault}.`), true, true);

/** Returns the failure for an answer that is too large to read. It is not retried, because it would be as large again. */
export const answerTooLarge = (name: string, maxBytes: number): CallFailure =>
  targetFailure(unavailable(`The provider ${name} returned more than ${maxBytes} bytes.`));

/** Types of errors in the request, which providers send as the first event of a stream. */
const REQUEST_ERRORS: ReadonlySet<string> = new Set(['invalid_request_error', 'request_too_large']);

/** Returns the failure for a stream whose first event is an error or cannot be used. */
export function firstEventFailure(name: string, { type, message }: StreamFailure): CallFailure {
  if (REQUEST_ERRORS.has(type)) {
    const detail = `The provider ${name} rejected the request: ${message}`;
    return requestFailure(new Problem('invalid_request', detail, upstream()));
  }
  if (type === 'rate_limit_error') return rateLimited(name, `: ${message}`, undefined, true);
  return new CallFailure(
    unavailable(`The provider ${name} did not start its response: ${message}`),
    true,
    true,
  );
}

/** Returns a stream failure that clients may see: shortened, and without the API key of the provider. */
export const sanitizedFailure = (
  { type, message }: StreamFailure,
  { apiKey }: FailedProvider,
): StreamFailure => new StreamFailure(sanitize(type, apiKey).slice(0, TYPE_MAX), sanitize(message, apiKey));

/** Returns the failure for a target that currently cannot be called. */
export const targetUnavailable = (detail: string): CallFailure => targetFailure(permanent(detail));

const upstream = () => ({ isUpstream: true });
const unavailable = (detail: string, cause?: unknown): Problem =>
  problem.unavailable(detail, { isUpstream: true, cause });
/** Returns a 503 that lasts until the provider or the model is changed. */
const permanent = (detail: string): Problem =>
  problem.unavailable(detail, { isUpstream: true, headers: NO_RETRY });
const requestFailure = (cause: Problem): CallFailure => new CallFailure(cause, false, false);
const targetFailure = (cause: Problem): CallFailure => new CallFailure(cause, false, true);

function rateLimited(
  name: string,
  because: string,
  retryAfterMs: number | undefined,
  isRetryable: boolean,
): CallFailure {
  const seconds = Math.max(RETRY_SECONDS, Math.ceil((retryAfterMs ?? 0) / 1000));
  const cause = problem.rateLimited(
    `The provider ${name} rejected the request because of a limit (429)${because}`,
    seconds,
  );
  return new CallFailure(cause, isRetryable, true, retryAfterMs);
}

/** Returns the message of an error in OpenAI's or Anthropic's format. Ignores other bodies, which intermediaries may send. */
function messageOf(text: string, apiKey: string | null): string {
  const body = parsedObject(text) ?? {};
  const message = nameOf(objectOf(body.error).message) ?? nameOf(body.error) ?? '';
  return sanitize(message, apiKey);
}

/** Returns a text from a provider that clients may see: shortened, and without the API key. */
const sanitize = (text: string, apiKey: string | null): string =>
  (apiKey === null ? text : text.replaceAll(apiKey, '…')).slice(0, MESSAGE_MAX);

/** Returns whether the body of a response is an error, whatever its status. */
export const isErrorBody = (text: string): boolean => isObject(parsedObject(text)?.error);
