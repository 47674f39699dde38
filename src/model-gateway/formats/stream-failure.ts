import { isObject, type JsonObject, nameOf, objectOf } from './json-shape';

/** A stream that the provider ended with an error, or that is not what its format promises. */
export class StreamFailure extends Error {
  /**
   * @param type the type that the provider gave, such as `overloaded_error`; `api_error` for broken streams
   * @param message the text of the provider, which may contain anything
   */
  constructor(
    readonly type: string,
    message: string,
  ) {
    super(message);
    this.name = 'StreamFailure';
  }
}

/** Makes a failure of the `error` member that both provider kinds send. */
export function failureOf(error: unknown): StreamFailure {
  const { type, message } = objectOf(error);
  const text = nameOf(message) ?? nameOf(error) ?? 'The provider ended the stream with an error.';
  return new StreamFailure(nameOf(type) ?? 'api_error', text);
}

/** Throws the failure that a chunk of OpenAI's format reports. Servers send it in place of a chunk. */
export function throwIfError(chunk: JsonObject): void {
  if (isObject(chunk.error) || nameOf(chunk.error) !== undefined) throw failureOf(chunk.error);
}
