/**
 * A body is not JSON, or contains a value that cannot be stored unchanged. Becomes 400 `invalid_request`. No property
 * repeats more than a few characters of the body.
 */
export class JsonInputError extends Error {
  override readonly name = 'JsonInputError';

  /**
   * @param pointer JSON pointer (RFC 6901) to the invalid value; to its object, if a member name is invalid; to an
   *   enclosing value, if the full pointer would exceed 512 characters; '' for the whole body and for syntax errors
   * @param detail what is wrong and how to fix it
   * @param isTooLarge whether the body has too many values, which is 413
   * @param syntaxFault for invalid JSON: the position, and what is expected there
   */
  constructor(
    readonly pointer: string,
    readonly detail: string,
    readonly syntaxFault?: string,
    readonly isTooLarge = false,
  ) {
    super(detail);
  }
}

/** An element of a list that is valid JSON, but cannot be accepted. The other elements of the list are not affected. */
export class InvalidJson {
  /** @param pointer to the invalid value, within the element */
  constructor(
    readonly pointer: string,
    readonly detail: string,
  ) {}

  /** @param place pointer to the element */
  toError(place = ''): JsonInputError {
    return new JsonInputError(`${place}${this.pointer}`, this.detail);
  }
}
