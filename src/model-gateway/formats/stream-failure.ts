import { isObject, type JsonObject, nameOf, objectOf } from './json-shape';

/** The error for a stream that the provider ended with an error, or that violates its format. */
export class StreamFailure extends Error {
  /**
   * @param type the type that the provider sent, such as `overloaded_error`; `api_error` for broken streams
   * @param message the message of the provider, which may contain anything
   */
  constructor(
    readonly type: string,
    message: string,
  ) {
    super(message);
    this.name = 'StreamFailure';
  }
}

/** Returns a failure for the `error` member that both kinds of providers send. */
export function failureOf(error: unknown): StreamFailure {
  const { type, message } = objectOf(error);
  const text = nameOf(message) ?? nameOf(error) ?? 'The provider ended the stream with an error.';
  return new StreamFailure(nameOf(type) ?? 'api_error', text);
}

/** Throws if a chunk in OpenAI's format reports an error, which servers send instead of a chunk. */
export function throwIfError(chunk: JsonObject): void {
  if (isObject(chunk.error) || nameOf(chunk.error) !== undefined) throw failureOf(chunk.error);
}
