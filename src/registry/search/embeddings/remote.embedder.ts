import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { isJsonObject } from '#platform/json';
import { rootLogger } from '#platform/logging';
import { normalized } from '../../../resources';

/** Maximum bytes of a response per text: a vector of 16,384 dimensions with 20 bytes for each number. */
const RESPONSE_MAX = 330_000;
/** Maximum number of dimensions of a vector. */
export const DIMENSIONS_MAX = 16_384;

/** Pause after the backend fails, in ms. It doubles with each further outage. `Retry-After` can extend it, up to the maximum. */
const PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 60_000;

/** A failed request to an embeddings backend. */
export class EmbeddingFailure extends Error {
  /**
   * @param failure how the backend failed, as a predicate for logs and problem details: `returned status 500`
   * @param isInputRejected whether the backend rejected the texts, and would reject them again
   * @param retryAfterMs `Retry-After` of the backend, in ms
   */
  constructor(
    readonly failure: string,
    readonly isInputRejected = false,
    readonly retryAfterMs = 0,
  ) {
    super(`The embeddings backend ${failure}.`);
    this.name = 'EmbeddingFailure';
  }
}

/** Requests embeddings from the configured model. The model gateway, which is on a higher floor, implements it. */
@Injectable()
export abstract class EmbeddingsModel {
  /**
   * Returns the response of the model in the format of OpenAI's API. Throws `EmbeddingFailure`, or the signal's reason.
   *
   * @param maxBytes maximum size of the response
   */
  abstract embed(body: string, maxBytes: number, signal: AbortSignal): Promise<unknown>;
}

/** Embeds texts with the configured model, and pauses after it has failed. */
@Injectable()
export class RemoteEmbedder {
  readonly isConfigured: boolean;
  private failures = 0;
  private pausedUntil = 0;

  constructor(
    private readonly environment: Environment,
    private readonly model: EmbeddingsModel,
  ) {
    const { EMBEDDINGS_BASE_URL, EMBEDDINGS_MODEL } = environment;
    this.isConfigured = (EMBEDDINGS_BASE_URL ?? EMBEDDINGS_MODEL) !== undefined;
  }

  /** Whether the backend has failed so recently that it should not be called. */
  get isPaused(): boolean {
    return this.pauseMs > 0;
  }

  /** The time until the backend may be called again, in ms. Negative if it may be called now. */
  get pauseMs(): number {
    return this.pausedUntil - performance.now();
  }

  /**
   * Returns a unit vector for each text, in order, or null for a text without a vector. Throws `EmbeddingFailure`, or the
   * signal's reason.
   */
  async embed(
    texts: readonly string[],
    signal = new AbortController().signal,
  ): Promise<(Float64Array | null)[]> {
    const { EMBEDDINGS_MODEL: model, EMBEDDINGS_DIMENSIONS: dimensions } = this.environment;
    const body = JSON.stringify({ model, input: texts, encoding_format: 'float', dimensions });
    const value = await this.model.embed(body, RESPONSE_MAX * texts.length, signal);
    const vectors = vectorsOf(value, texts.length, dimensions);
    this.failures = 0;
    return vectors;
  }

  /** Pauses after a failure of the backend, unless it only rejected the texts. */
  pauseAfter({ failure, isInputRejected, retryAfterMs }: EmbeddingFailure): void {
    if (isInputRejected) return;
    // requests that were sent before the pause began fail with the same outage
    if (!this.isPaused) this.failures++;
    const waitMs = Math.min(Math.max(retryAfterMs, PAUSE_MS * 2 ** (this.failures - 1)), PAUSE_MAX_MS);
    this.pausedUntil = performance.now() + waitMs;
    rootLogger.warn({ failure, wait_ms: waitMs }, 'texts could not be embedded');
  }
}

/** Returns the vectors of a response in the order of the texts. */
function vectorsOf(value: unknown, count: number, dimensions: number | undefined): (Float64Array | null)[] {
  const data: unknown = isJsonObject(value) ? value.data : undefined;
  if (!Array.isArray(data) || data.length !== count) {
    throw new EmbeddingFailure(`did not return the ${count} requested vectors`);
  }
  const vectors = new Array<Float64Array | null | undefined>(count).fill(undefined);
  let length = dimensions;
  for (const [position, item] of (data as unknown[]).entries()) {
    const { embedding, index = position } = isJsonObject(item) ? item : {};
    if (!isVector(embedding)) throw new EmbeddingFailure('returned invalid vectors');
    length ??= embedding.length;
    if (embedding.length !== length) {
      throw new EmbeddingFailure(`returned a vector of ${embedding.length} numbers instead of ${length}`);
    }
    if (typeof index === 'number' && index in vectors) vectors[index] = normalized(embedding);
  }
  if (vectors.includes(undefined)) throw new EmbeddingFailure('did not return a vector for each text');
  return vectors as (Float64Array | null)[];
}

const isVector = (value: unknown): value is number[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= DIMENSIONS_MAX &&
  value.every((number) => typeof number === 'number' && Number.isFinite(number));
