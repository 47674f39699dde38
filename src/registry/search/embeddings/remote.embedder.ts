import { createHash } from 'node:crypto';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Agent, type Dispatcher, request } from 'undici';
import { Environment } from '#platform/config';
import { isJsonObject } from '#platform/json';
import { type Embedder, EmbeddingFailure } from './embedder';
import { normalized } from './parts';

/** Bytes of an answer that are read, for each text: vectors of 16,384 dimensions with 20 bytes for each number. */
const ANSWER_MAX = 330_000;
const CONNECT_MS = 5_000;
/** Texts of one request: servers of models take 32 and more. */
const BATCH = 32;
/** PostgreSQL's arrays of parts, and what an answer has room for. */
export const DIMENSIONS_MAX = 16_384;

/** Asks an OpenAI-compatible server (`POST …/embeddings`). Redirects are not followed. */
@Injectable()
export class RemoteEmbedder implements Embedder, OnApplicationShutdown {
  readonly identity: string;
  readonly batch = BATCH;
  /** Whether one is configured at all. */
  readonly isConfigured: boolean;
  private readonly agent = new Agent({
    connect: { timeout: CONNECT_MS },
    // the whole of a request has one deadline
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  constructor(private readonly environment: Environment) {
    const { EMBEDDINGS_BASE_URL, EMBEDDINGS_MODEL, EMBEDDINGS_DIMENSIONS } = environment;
    this.isConfigured = EMBEDDINGS_BASE_URL !== undefined;
    const base = createHash('sha256')
      .update(EMBEDDINGS_BASE_URL ?? '')
      .digest('hex')
      .slice(0, 16);
    this.identity = `openai:${base}:${EMBEDDINGS_MODEL ?? ''}:${EMBEDDINGS_DIMENSIONS ?? ''}`;
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<(Float64Array | null)[]> {
    const timeout = AbortSignal.timeout(this.environment.EMBEDDINGS_TIMEOUT_MS);
    try {
      const value = await this.ask(texts, signal ? AbortSignal.any([signal, timeout]) : timeout);
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
    await this.agent.destroy();
  }

  private async ask(texts: readonly string[], signal: AbortSignal): Promise<unknown> {
    const { EMBEDDINGS_BASE_URL, EMBEDDINGS_API_KEY, EMBEDDINGS_MODEL, EMBEDDINGS_DIMENSIONS } =
      this.environment;
    const { statusCode, headers, body } = await request(embeddingsOf(EMBEDDINGS_BASE_URL!), {
      method: 'POST',
      dispatcher: this.agent,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(EMBEDDINGS_API_KEY !== undefined && { authorization: `Bearer ${EMBEDDINGS_API_KEY}` }),
      },
      body: JSON.stringify({
        model: EMBEDDINGS_MODEL,
        input: texts,
        encoding_format: 'float',
        ...(EMBEDDINGS_DIMENSIONS !== undefined && { dimensions: EMBEDDINGS_DIMENSIONS }),
      }),
      signal,
    });
    const text = await readUpTo(ANSWER_MAX * texts.length, body);
    if (statusCode < 200 || statusCode > 299) {
      const isOfTexts = statusCode === 400 || statusCode === 413 || statusCode === 422;
      throw new EmbeddingFailure(`answered ${statusCode}`, isOfTexts, retryAfterMs(headers['retry-after']));
    }
    if (text === undefined) throw new EmbeddingFailure('answered with more than vectors take');
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new EmbeddingFailure('answered with something else than JSON');
    }
  }
}

/** Below the base, as clients of OpenAI's API read it; what it has of a query stays. */
function embeddingsOf(base: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/(\/embeddings)?\/*$/, '')}/embeddings`;
  return url.href;
}

/** @returns undefined for a longer one, of which no more is read */
async function readUpTo(max: number, body: Dispatcher.ResponseData['body']): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    // leaving the loop destroys the stream, and with it the connection
    if (size > max) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** `Retry-After` in seconds; one that is a date is taken for none. */
const retryAfterMs = (given: string | string[] | undefined): number | undefined =>
  typeof given === 'string' && /^\d{1,6}$/.test(given) ? Number(given) * 1000 : undefined;

/** The vectors of an answer, each in its place. */
function vectorsOf(value: unknown, count: number, dimensions: number | undefined): (Float64Array | null)[] {
  const data: unknown = isJsonObject(value) ? value.data : undefined;
  if (!Array.isArray(data) || data.length !== count) {
    throw new EmbeddingFailure(`answered without the ${count} vectors that it was asked for`);
  }
  const vectors = new Array<Float64Array | null | undefined>(count).fill(undefined);
  let length = dimensions;
  for (const [place, one] of (data as unknown[]).entries()) {
    const { embedding, index = place } = isJsonObject(one) ? one : {};
    if (!isVector(embedding)) throw new EmbeddingFailure('answered with vectors that are none');
    length ??= embedding.length;
    if (embedding.length !== length) {
      throw new EmbeddingFailure(`answered with a vector of ${embedding.length} numbers, not ${length}`);
    }
    if (typeof index === 'number' && index in vectors) vectors[index] = normalized(embedding);
  }
  if (vectors.includes(undefined)) throw new EmbeddingFailure('answered with vectors of no text');
  return vectors as (Float64Array | null)[];
}

const isVector = (value: unknown): value is number[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= DIMENSIONS_MAX &&
  value.every((one) => typeof one === 'number' && Number.isFinite(one));
