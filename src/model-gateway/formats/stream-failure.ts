import { isAbsent, type JsonObject, nameOf, parsedObject } from './json-shape';
import { errorOf, isError } from './reported-error';
import type { SseEvent } from './sse';

/** The error for a stream that the provider ended with an error, or that violates its format. */
export class StreamFailure extends Error {
  /**
   * @param type the type that the provider sent, such as `overloaded_error`; `api_error` for broken streams
   * @param message the message of the provider, which may contain anything
   * @param code the code that the provider sent, or an empty text
   * @param isReported whether the provider reported the error
   */
  constructor(
    readonly type: string,
    message: string,
    readonly code = '',
    readonly isReported = false,
  ) {
    super(message);
    this.name = 'StreamFailure';
  }
}

/** The code of an answer that exceeds a limit of the gateway, which is not its target's fault. */
export const TOO_LARGE = 'response_too_large';

export const streamTooLarge = (message: string): StreamFailure =>
  new StreamFailure('api_error', message, TOO_LARGE);

/** Parses an event. Throws `StreamFailure` for an event that is not an object or reports an error. */
export function eventObject({ data, event }: SseEvent): JsonObject {
  const object = parsedObject(data);
  if (event === 'error') throw failureOf(object ?? { error: data });
  if (!object) throw new StreamFailure('api_error', 'The provider sent an event that is not a JSON object.');
  throwIfError(object);
  return object;
}

/** Throws if an event reports an error, which servers send instead of an answer or within it. */
export function throwIfError(event: JsonObject): void {
  if (isError(event) || isFault(event)) throw failureOf(event);
}

/** Returns whether an event has only the message of an error, as FastAPI and others send it. */
const isFault = ({ choices, type, detail, message }: JsonObject): boolean =>
  isAbsent(choices) &&
  isAbsent(type) &&
  (nameOf(detail) !== undefined || Array.isArray(detail) || nameOf(message) !== undefined);

/** Returns the failure for an event that reports an error. */
export function failureOf(event: JsonObject): StreamFailure {
  const { type, message, code } = errorOf(event);
  const text = message === '' ? 'The provider ended the stream with an error.' : message;
  return new StreamFailure(type === '' ? 'api_error' : type, text, code, true);
}
