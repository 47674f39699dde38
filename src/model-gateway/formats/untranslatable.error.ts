/** A request, or a part of it, that the format of the provider cannot express. The client has to change the request. */
export class UntranslatableError extends Error {
  /**
   * @param pointer the JSON pointer (RFC 6901) of the member in the request of the client
   * @param message a sentence that says what to do
   */
  constructor(
    readonly pointer: string,
    message: string,
  ) {
    super(message);
    this.name = 'UntranslatableError';
  }
}
