/** The error for a request that the provider's format cannot express. The client has to change the request. */
export class UntranslatableError extends Error {
  /**
   * @param pointer the JSON Pointer (RFC 6901) of the member in the client's request
   * @param message a sentence that tells the client what to do
   */
  constructor(
    readonly pointer: string,
    message: string,
  ) {
    super(message);
    this.name = 'UntranslatableError';
  }
}
