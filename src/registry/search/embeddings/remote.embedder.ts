import { Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import type { Agent } from 'undici';
import { Environment } from '#platform/config';
import { isJsonObject } from '#platform/json';
import { readCapped, retryAfterMs, undici } from '#platform/outbound';
import { Problem } from '#platform/problem';
import { normalized } from '../../../resources';
import { EmbeddingsGateway, GATEWAY_MODEL_PREFIX } from './embeddings-gateway';

/** Most bytes of an answer per text: a vector of 16,384 dimensions with 20 bytes for each number. */
const ANSWER_MAX = 330_000;
const CONNECT_MS = 5_000;
/** Most dimensions of a vector. */
export const DIMENSIONS_MAX = 16_384;

/** An embeddings backend did not answer as it should. */
export class EmbeddingFailure extends Error {
  /**
   * @param trouble what the backend did, for logs and problem details: `answered 500`
   * @param isOfTexts the backend rejected the texts, and would reject them again
   * @param retryAfterMs how long the backend asked to be left alone
   */
  constructor(
    readonly trouble: string,
    readonly isOfTexts = false,
    readonly retryAfterMs?: number,
  ) {
    super(`The embeddings backend ${trouble}.`);
    this.name = 'EmbeddingFailure';
  }
}

/** Asks an OpenAI-compatible server (`POST …/embeddings`). Redirects are not followed. */
@Injectable()
export class RemoteEmbedder implements OnApplicationShutdown {
  readonly isConfigured: boolean;
  private agent: Agent | undefined;

  /** The model of the gateway, if the environment names one. */
  private readonly gatewayModelId: string | undefined;

  constructor(
    private readonly environment: Environment,
    @Optional() private readonly gateway?: EmbeddingsGateway,
  ) {
    const { EMBEDDINGS_BASE_URL, EMBEDDINGS_MODEL = '' } = environment;
    if (EMBEDDINGS_MODEL.startsWith(GATEWAY_MODEL_PREFIX)) {
      this.gatewayModelId = EMBEDDINGS_MODEL.slice(GATEWAY_MODEL_PREFIX.length);
    }
    this.isConfigured = EMBEDDINGS_BASE_URL !== undefined || this.gatewayModelId !== undefined;
  }

  /**
   * Returns unit vectors in the order of the texts; null for a text without one. Throws `EmbeddingFailure`, or the signal's
   * reason.
   */
  async embed(texts: readonly string[], signal?: AbortSignal): Promise<(Float64Array | null)[]> {
    const timeout = AbortSignal.timeout(this.environment.EMBEDDINGS_TIMEOUT_MS);
    try {
      const value = await this.ask(
        this.bodyOf(texts),
        texts.length,
        signal ? AbortSignal.any([signal, timeout]) : timeout,
      );
      return vectorsOf(value, texts.length, this.environment.EMBEDDINGS_DIMENSIONS);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof EmbeddingFailure) throw error;
      const seconds = this.environment.EMBEDDINGS_TIMEOUT_MS / 1000;
      throw new EmbeddingFailure(
        timeout.aborted ? `did not answer within ${seconds} s` : 'cannot be reached',
      );
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.agent?.destroy();
  }

  private bodyOf(texts: readonly string[]): string {
    const { EMBEDDINGS_MODEL, EMBEDDINGS_DIMENSIONS } = this.environment;
    return JSON.stringify({
      model: EMBEDDINGS_MODEL,
      input: texts,
      encoding_format: 'float',
      ...(EMBEDDINGS_DIMENSIONS !== undefined && { dimensions: EMBEDDINGS_DIMENSIONS }),
    });
  }

  private ask(sent: string, count: number, signal: AbortSignal): Promise<unknown> {
    return this.gatewayModelId === undefined
      ? this.askServer(sent, count, signal)
      : this.askGateway(this.gatewayModelId, sent, signal);
  }

  private async askGateway(modelId: string, sent: string, signal: AbortSignal): Promise<unknown> {
    if (!this.gateway) throw new Error('This process has no model gateway.');
    try {
      return await this.gateway.embed(modelId, sent, signal);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { status, headers } = error;
      const seconds = Number(headers['Retry-After'] ?? NaN);
      const isOfTexts = status === 400 || status === 413;
      const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : undefined;
      throw new EmbeddingFailure(`of the model gateway answered ${status}`, isOfTexts, retryAfterMs);
    }
  }

  private async askServer(sent: string, count: number, signal: AbortSignal): Promise<unknown> {
    const { EMBEDDINGS_BASE_URL, EMBEDDINGS_API_KEY } = this.environment;
    const { Agent, request } = undici();
    this.agent ??= new Agent({
      connect: { timeout: CONNECT_MS },
      // One deadline covers the whole request.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const { statusCode, headers, body } = await request(embeddingsOf(EMBEDDINGS_BASE_URL!), {
      method: 'POST',
      dispatcher: this.agent,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(EMBEDDINGS_API_KEY !== undefined && { authorization: `Bearer ${EMBEDDINGS_API_KEY}` }),
      },
      body: sent,
      signal,
    });
    const text = await readCapped(body, ANSWER_MAX * count);
    if (statusCode < 200 || statusCode > 299) {
      const isOfTexts = statusCode === 400 || statusCode === 413 || statusCode === 422;
      throw new EmbeddingFailure(`answered ${statusCode}`, isOfTexts, retryAfterMs(headers));
    }
    if (text === undefined) throw new EmbeddingFailure('answered with more bytes than vectors take');
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new EmbeddingFailure('answered with invalid JSON');
    }
  }
}

/** Returns the address below the base URL, as OpenAI clients read it. A query string stays. */
function embeddingsOf(base: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/(\/embeddings)?\/*$/, '')}/embeddings`;
  return url.href;
}

/** Returns the vectors of an answer in the order of the texts. */
function vectorsOf(value: unknown, count: number, dimensions: number | undefined): (Float64Array | null)[] {
  const data: unknown = isJsonObject(value) ? value.data : undefined;
  if (!Array.isArray(data) || data.length !== count) {
    throw new EmbeddingFailure(`answered without the ${count} vectors requested`);
  }
  const vectors = new Array<Float64Array | null | undefined>(count).fill(undefined);
  let length = dimensions;
  for (const [place, one] of (data as unknown[]).entries()) {
    const { embedding, index = place } = isJsonObject(one) ? one : {};
    if (!isVector(embedding)) throw new EmbeddingFailure('answered with invalid vectors');
    length ??= embedding.length;
    if (embedding.length !== length) {
      throw new EmbeddingFailure(`answered with a vector of ${embedding.length} numbers, not ${length}`);
    }
    if (typeof index === 'number' && index in vectors) vectors[index] = normalized(embedding);
  }
  if (vectors.includes(undefined)) throw new EmbeddingFailure('answered without a vector for each text');
  return vectors as (Float64Array | null)[];
}

const isVector = (value: unknown): value is number[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= DIMENSIONS_MAX &&
  value.every((one) => typeof one === 'number' && Number.isFinite(one));
