import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { FairLimiter, LoadingCache } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { type Problem, problem } from '#platform/problem';
import { BUILTIN_DIMENSIONS, embedBuiltin, embeddingIdentity } from '../../../resources';
import { EmbeddingRepository } from './embedding.repository';
import { EmbeddingFailure, RemoteEmbedder } from './remote.embedder';

/** Number of cached query vectors, of a few KB each. The pages of a search then embed its query once. */
const CACHED = 500;

/** Shortest `Retry-After` for a query that cannot be embedded, in seconds. */
const RETRY_SECONDS = 5;

/** Concurrent requests to the backend per organization. Another organization can always add one more. */
const CONCURRENCY = 8;
/** Maximum number of waiting queries, of all organizations together. */
const WAITING_MAX = 200;

/** Embeds queries with the embedder that this process is configured with. Organizations take turns. */
@Injectable()
export class QueryEmbedder {
  readonly identity: string;
  private readonly vectors = new LoadingCache<Float64Array | null>({
    max: CACHED,
    lifetimeMs: (vector) => (vector ? Infinity : 0),
  });
  private readonly limiter = new FairLimiter({
    share: CONCURRENCY,
    maxWaiting: WAITING_MAX,
  });
  private knownDimensions: number | undefined;

  constructor(
    environment: Environment,
    private readonly remote: RemoteEmbedder,
    private readonly embeddings: EmbeddingRepository,
  ) {
    this.identity = embeddingIdentity(environment);
    this.knownDimensions = remote.isConfigured ? environment.EMBEDDINGS_DIMENSIONS : BUILTIN_DIMENSIONS;
  }

  /** Returns the length of the vectors, or undefined while a remote backend has not embedded any document. */
  async dimensions(): Promise<number | undefined> {
    this.knownDimensions ??= await this.embeddings.dimensions(this.identity);
    return this.knownDimensions;
  }

  /**
   * Returns the vector of a query, or null for a query without words. Errors: 503 `service_unavailable` if the backend does not
   * respond; 503 `service_overloaded` if too many queries wait for it; the signal's reason.
   *
   * @param withinMs how long the caller waits. The backend keeps its own timeout, so that one impatient caller neither
   *   marks it as down nor discards its response
   */
  async embed(
    owner: Pick<Scope, 'orgId' | 'workspaceId'>,
    query: string,
    signal: AbortSignal,
    withinMs: number,
  ): Promise<Float64Array | null> {
    // The text is on one line, because the first of several lines would weigh as much as all others.
    if (!this.remote.isConfigured) return embedBuiltin(withoutStopWords(query));
    if (query.trim() === '') return null;
    // The key contains the organization, so that response times reveal nothing about searches of other organizations.
    const key = JSON.stringify([owner.orgId, query]);
    const timeout = AbortSignal.timeout(Math.ceil(withinMs));
    try {
      return await this.vectors.find(
        key,
        (abort) => this.limiter.run(owner, abort, () => this.embedRemotely(query)),
        AbortSignal.any([signal, timeout]),
      );
    } catch (error) {
      throw error === timeout.reason ? this.unavailable('The query was not embedded in time.') : error;
    }
  }

  private async embedRemotely(query: string): Promise<Float64Array | null> {
    if (this.remote.isPaused) {
      throw this.unavailable('The embeddings backend is unavailable.');
    }
    try {
      const [vector] = await this.remote.embed([query]);
      const dimensions = await this.dimensions();
      if (vector && dimensions !== undefined && vector.length !== dimensions) {
        throw this.unavailable('The embeddings backend returned a vector of a different length than before.');
      }
      return vector ?? null;
    } catch (error) {
      if (!(error instanceof EmbeddingFailure)) throw error;
      this.remote.pauseAfter(error);
      throw this.unavailable(error.message, error);
    }
  }

  /** Returns a 503 that ends with the pause of the backend. */
  private unavailable(detail: string, cause?: unknown): Problem {
    const seconds = Math.max(RETRY_SECONDS, Math.ceil(this.remote.pauseMs / 1000));
    return problem.unavailable(`${detail} Use the mode \`hybrid\` or \`keyword\`, or send a \`vector\`.`, {
      headers: { 'Retry-After': String(seconds) },
      isUpstream: true,
      cause,
    });
  }
}

/** English stop words, which say nothing about the subject of a query. */
const STOP_WORDS = new Set(
  (
    'a about after all also am an and any are as at be been before being both but by can could did do does doing for from ' +
    'had has have having he her here his how i if in into is it its just me more most my no nor not of off on once only or ' +
    'other our out over own she should so some such than that the their them then there these they this those through to ' +
    'too under until up very was we were what when where which while who whom why will with would you your'
  ).split(' '),
);

/** Queries with fewer words, such as `my car`, keep all of them, because each may be part of a name. */
const SENTENCE_MIN = 4;

/** Returns a sentence without its stop words, on one line. Other queries keep all their words. */
export function withoutStopWords(query: string): string {
  const words = query.trim().split(/\s+/);
  if (words.length < SENTENCE_MIN) return words.join(' ');
  const remaining = words.filter(
    (word) => !STOP_WORDS.has(word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')),
  );
  return (remaining.some((word) => /[\p{L}\p{N}]/u.test(word)) ? remaining : words).join(' ');
}
