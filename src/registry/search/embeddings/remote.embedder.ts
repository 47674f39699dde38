import { Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import type { Agent } from 'undici';
import { Environment } from '#platform/config';
import { isJsonObject } from '#platform/json';
import { readCapped, retryAfterMs, undici } from '#platform/outbound';
import { Problem } from '#platform/problem';
import { normalized } from '../../../resources';
import { EmbeddingsGateway, GATEWAY_MODEL_PREFIX } from './embeddings-gateway';

/** Maximum bytes of a response per text: a vector of 16,384 dimensions with 20 bytes for each number. */
const RESPONSE_MAX = 330_000;
const CONNECT_MS = 5_000;
/** Maximum number of dimensions of a vector. */
export const DIMENSIONS_MAX = 16_384;

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
    readonly retryAfterMs?: number,
  ) {
    super(`The embeddings backend ${failure}.`);
    this.name = 'EmbeddingFailure';
  }
}

/** Requests embeddings from an OpenAI-compatible server (`POST …/embeddings`). Does not follow redirects. */
@Injectable()
export class RemoteEmbedder implements OnApplicationShutdown {
  readonly isConfigured: boolean;
  private agent: Agent | undefined;

  /** The id of a model of the gateway, if `EMBEDDINGS_MODEL` names one. */
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
   * Returns a unit vector for each text, in order, or null for a text without a vector. Throws `EmbeddingFailure`, or the
   * signal's reason.
   */
  async embed(texts: readonly string[], signal?: AbortSignal): Promise<(Float64Array | null)[]> {
    const timeout = AbortSignal.timeout(this.environment.EMBEDDINGS_TIMEOUT_MS);
    try {
      const value = await this.send(
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
        timeout.aborted ? `did not respond within ${seconds} s` : 'cannot be reached',
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

  private send(requestBody: string, count: number, signal: AbortSignal): Promise<unknown> {
    return this.gatewayModelId === undefined
      ? this.sendToServer(requestBody, count, signal)
      : this.sendToGateway(this.gatewayModelId, requestBody, signal);
  }

  private async sendToGateway(modelId: string, requestBody: string, signal: AbortSignal): Promise<unknown> {
    if (!this.gateway) throw new Error('This process has no model gateway.');
    try {
      return await this.gateway.embed(modelId, requestBody, signal);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { status, headers } = error;
      const seconds = Number(headers['Retry-After'] ?? NaN);
      const isInputRejected = status === 400 || status === 413;
      const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : undefined;
      throw new EmbeddingFailure(
        `returned status ${status} through the model gateway`,
        isInputRejected,
        retryAfterMs,
      );
    }
  }

  private async sendToServer(requestBody: string, count: number, signal: AbortSignal): Promise<unknown> {
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
      body: requestBody,
      signal,
    });
    const text = await readCapped(body, RESPONSE_MAX * count);
    if (statusCode < 200 || statusCode > 299) {
      const isInputRejected = statusCode === 400 || statusCode === 413 || statusCode === 422;
      throw new EmbeddingFailure(`returned status ${statusCode}`, isInputRejected, retryAfterMs(headers));
    }
    if (text === undefined) throw new EmbeddingFailure('returned more bytes than its vectors need');
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new EmbeddingFailure('returned invalid JSON');
    }
  }
}

/** Returns the URL of the embeddings endpoint, as OpenAI clients build it from a base URL. Keeps a query string. */
function embeddingsOf(base: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/(\/embeddings)?\/*$/, '')}/embeddings`;
  return url.href;
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
