/** Makes vectors of texts: a backend of embeddings, as one process is configured with it. */
export interface Embedder {
  /** What makes its vectors comparable, see `search_backends`. */
  readonly identity: string;
  /** Texts that it takes at once. */
  readonly batch: number;
  /**
   * Vectors of length 1, in the order of the texts; null for a text that has none. Throws `EmbeddingFailure`, or the
   * signal's reason.
   */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<(Float64Array | null)[]>;
}

/** A text that no backend can take offence at: tells whether it answers, and of how many numbers its vectors are. */
export const PROBE = 'How many numbers does a vector have?';

/** A backend of embeddings did not answer as it should. */
export class EmbeddingFailure extends Error {
  /**
   * @param trouble what it did, for the log and for the operator; it follows on the subject
   * @param isOfTexts the texts are at fault: the same again would be refused again
   * @param retryAfterMs what it asked to be left alone for
   */
  constructor(
    readonly trouble: string,
    readonly isOfTexts = false,
    readonly retryAfterMs?: number,
  ) {
    super(`The backend of embeddings ${trouble}.`);
    this.name = 'EmbeddingFailure';
  }
}
