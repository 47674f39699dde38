import { outboundFailure } from '#platform/outbound';
import { Problem, problem } from '#platform/problem';
import { isObject, nameOf, objectOf, parsedObject } from '../formats/json-shape';
import { StreamFailure } from '../formats/stream-failure';
import { NO_RETRY } from '../spending/no-retry';
import { CallFailure } from './call-failure';

/** Characters of a provider's message that a client gets. */
const MESSAGE_MAX = 1_000;
/** Characters of the type of an error. */
const TYPE_MAX = 100;

/** Seconds after which a client should try again if the provider does not say. */
const RETRY_SECONDS = 1;

/** The provider that a failure is about, as clients know it. */
export interface Failing {
  /** Its name. */
  name: string;
  apiKey: string | null;
}

/**
 * Returns the failure of a call that a provider refused.
 *
 * @param text the body of its response
 */
export function refusal(
  { name, apiKey }: Failing,
  status: number,
  text: string,
  retryAfterMs: number | undefined,
): CallFailure {
  const message = messageOf(text, apiKey);
  const because = message === '' ? '' : `: ${message}`;
  switch (status) {
    case 400:
    case 405:
    case 415:
    case 422:
      return ofRequest(
        new Problem('invalid_request', `The provider ${name} refused the request${because}`, upstream()),
      );
    case 413:
      return ofRequest(
        new Problem('payload_too_large', `The provider ${name} refused the request${because}`, upstream()),
      );
    case 401:
    case 403:
      // its message may repeat the key
      return ofTarget(
        permanent(`The provider ${name} rejected its API key (${status}). Set \`api_key\` again.`),
      );
    case 404:
      return ofTarget(
        permanent(`The provider ${name} does not know the model or the operation (404)${because}`),
      );
    case 429:
      return limited(name, because, retryAfterMs, !/insufficient_quota/.test(text));
    default:
      return status === 408 || status === 409 || status === 425 || status >= 500
        ? new CallFailure(
            unavailable(`The provider ${name} answered ${status}${because}`),
            true,
            true,
            retryAfterMs,
          )
        : ofTarget(unavailable(`The provider ${name} answered ${status}.`));
  }
}

/** Returns the failure of a call that could not be sent, or whose answer broke off. */
export function connectionFailure({ name }: Failing, error: unknown): CallFailure {
  const failure = outboundFailure(error);
  if (failure === 'blocked_address') {
    return ofTarget(
      new Problem(
        'forbidden',
        `The address of the provider ${name} cannot be called, because it is not public.`,
        upstream(),
      ),
    );
  }
  if (failure === 'timeout') return late(name);
  const how: Partial<Record<NonNullable<typeof failure>, string>> = {
    tls: 'cannot be reached over TLS',
    protocol: 'does not answer with valid HTTP',
    too_large: 'answers with too many bytes',
    redirect: 'answers with a redirect, which is not followed',
    unreachable: 'cannot be reached, or closed the connection',
  };
  if (failure === null) throw error;
  return new CallFailure(
    unavailable(`The provider ${name} ${how[failure]}.`, error),
    failure === 'unreachable',
    true,
  );
}

/** Returns the failure of a provider that does not answer in time. Another target is called at once. */
export const late = (name: string): CallFailure =>
  ofTarget(new Problem('request_timeout', `The provider ${name} did not answer in time.`, upstream()));

/** Returns the failure of a provider whose answer cannot be used. @param how such as `did not answer with JSON` */
export const unusable = (name: string, how: string): CallFailure =>
  new CallFailure(unavailable(`The provider ${name} ${how}.`), true, true);

/** Returns the failure of a provider whose answer is too large to be read. It would be no smaller the next time. */
export const answeredTooMuch = (name: string, maxBytes: number): CallFailure =>
  ofTarget(unavailable(`The provider ${name} answered with more than ${maxBytes} bytes.`));

/** Errors of the request that providers send as the first event of a stream. */
const OF_REQUEST: ReadonlySet<string> = new Set(['invalid_request_error', 'request_too_large']);

/** Returns the failure of a stream whose first event is an error, or cannot be used. */
export function streamRefusal(name: string, { type, message }: StreamFailure): CallFailure {
  if (OF_REQUEST.has(type)) {
    const detail = `The provider ${name} refused the request: ${message}`;
    return ofRequest(new Problem('invalid_request', detail, upstream()));
  }
  if (type === 'rate_limit_error') return limited(name, `: ${message}`, undefined, true);
  return new CallFailure(
    unavailable(`The provider ${name} did not begin its answer: ${message}`),
    true,
    true,
  );
}

/** Returns the failure of a stream as clients may see it: cut, and without the API key of the provider. */
export const shownFailure = ({ type, message }: StreamFailure, { apiKey }: Failing): StreamFailure =>
  new StreamFailure(shown(type, apiKey).slice(0, TYPE_MAX), shown(message, apiKey));

/** Returns the failure of a target that cannot be called now. */
export const notCallable = (detail: string): CallFailure => ofTarget(permanent(detail));

const upstream = () => ({ isUpstream: true });
const unavailable = (detail: string, cause?: unknown): Problem =>
  problem.unavailable(detail, { isUpstream: true, cause });
/** Returns a 503 that only a change of the provider or of the model can end. */
const permanent = (detail: string): Problem =>
  problem.unavailable(detail, { isUpstream: true, headers: NO_RETRY });
const ofRequest = (found: Problem): CallFailure => new CallFailure(found, false, false);
const ofTarget = (found: Problem): CallFailure => new CallFailure(found, false, true);

function limited(
  name: string,
  because: string,
  retryAfterMs: number | undefined,
  isRetryable: boolean,
): CallFailure {
  const seconds = Math.max(RETRY_SECONDS, Math.ceil((retryAfterMs ?? 0) / 1000));
  const found = problem.rateLimited(`The provider ${name} limits its calls${because}`, seconds);
  return new CallFailure(found, isRetryable, true, retryAfterMs);
}

/** Reads the message of an error in the format of OpenAI or Anthropic. Other bodies may be those of something in between. */
function messageOf(text: string, apiKey: string | null): string {
  const body = parsedObject(text) ?? {};
  const message = nameOf(objectOf(body.error).message) ?? nameOf(body.error) ?? '';
  return shown(message, apiKey);
}

/** Returns a text of a provider as clients may see it. */
const shown = (text: string, apiKey: string | null): string =>
  (apiKey === null ? text : text.replaceAll(apiKey, '…')).slice(0, MESSAGE_MAX);

/** Tells whether the body of a response is an error, whatever its status. */
export const isErrorBody = (text: string): boolean => isObject(parsedObject(text)?.error);
