/** The whole request body cannot be read; no span of it is to be stored. Answered with 400. */
export class OtlpDecodeError extends Error {
  override readonly name = 'OtlpDecodeError';

  /**
   * @param detail one plain English sentence for the sender; never holds a part of the body
   */
  constructor(
    readonly detail: string,
    options?: ErrorOptions,
  ) {
    super(detail, options);
  }
}
