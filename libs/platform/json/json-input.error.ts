/**
 * A body that is refused: not JSON, or JSON with something in it that cannot be kept as it was sent. Answered
 * as 400 `invalid_request`. Neither member repeats more than a few characters of the body.
 */
export class JsonInputError extends Error {
  override readonly name = 'JsonInputError';

  /**
   * @param pointer JSON pointer (RFC 6901) of the offending value; of the object, when a member name is at
   *   fault; of an enclosing value, when the full pointer would be longer than 512 characters; '' for the
   *   whole body and where no value can be named.
   * @param detail What was wrong and what would be right, in English.
   * @param syntaxFault Of text that is no JSON: what stands where, and what is expected there.
   */
  constructor(
    readonly pointer: string,
    readonly detail: string,
    readonly syntaxFault?: string,
  ) {
    super(detail);
  }
}
