import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { rootLogger } from '#platform/logging';
import { problem } from '#platform/problem';
import { BUILTIN_IDENTITY, embedBuiltin } from './builtin.embedder';
import { EmbeddingFailure } from './embedder';
import { RemoteEmbedder } from './remote.embedder';
import type { SearchBackend } from './search-backend.repository';

/** Vectors of queries that are kept, of some KB each: pages of one search ask once. */
const KEPT = 500;

/** After a failure nobody waits for the backend for so long, in ms, unless it says how long. */
const LEFT_ALONE_MS = 5_000;
const LEFT_ALONE_MAX_MS = 60_000;

/** Embeds what is searched for, by the backend that the documents were embedded by. */
@Injectable()
export class QueryEmbedder {
  private readonly kept = new LRUCache<string, Float64Array>({ max: KEPT });
  private askAgainAt = 0;

  constructor(private readonly remote: RemoteEmbedder) {}

  /**
   * The vector of a query; null for one without words. Errors: 503 `service_unavailable` where the backend does not
   * answer, or this process is configured with another; the signal's reason.
   */
  async embed(backend: SearchBackend, query: string, signal: AbortSignal): Promise<Float64Array | null> {
    if (backend.identity === BUILTIN_IDENTITY) return embedBuiltin(query);
    if (!this.remote.isConfigured || backend.identity !== this.remote.identity) {
      throw unavailable('Documents are embedded by another backend than this process is configured with.');
    }
    if (query.trim() === '') return null;
    const key = `${backend.backend_id} ${query}`;
    const known = this.kept.get(key);
    if (known) return known;
    const vector = await this.ask(query, signal);
    if (vector && vector.length !== backend.dimensions) {
      throw unavailable('The backend of embeddings answered with a vector of another length than before.');
    }
    if (vector) this.kept.set(key, vector);
    return vector;
  }

  private async ask(query: string, signal: AbortSignal): Promise<Float64Array | null> {
    if (performance.now() < this.askAgainAt) {
      throw unavailable('The backend of embeddings did not answer a moment ago.');
    }
    try {
      const [vector] = await this.remote.embed([query], signal);
      return vector ?? null;
    } catch (error) {
      if (!(error instanceof EmbeddingFailure)) throw error;
      if (!error.isOfTexts) {
        const wait = Math.min(error.retryAfterMs ?? LEFT_ALONE_MS, LEFT_ALONE_MAX_MS);
        this.askAgainAt = performance.now() + wait;
        rootLogger.warn({ trouble: error.trouble }, 'a query could not be embedded');
      }
      throw unavailable(error.message, error);
    }
  }
}

const unavailable = (detail: string, cause?: unknown) =>
  problem.unavailable(`${detail} Search in the mode keyword, or give a vector.`, {
    headers: { 'Retry-After': String(LEFT_ALONE_MS / 1000) },
    cause,
  });
