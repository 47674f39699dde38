import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { rootLogger } from '#platform/logging';
import { problem } from '#platform/problem';
import { FairTurns } from '#platform/turns';
import { BUILTIN_IDENTITY, embedBuiltin } from './builtin.embedder';
import { EmbeddingFailure } from './embedder';
import { meaningOf } from './meaningless';
import { RemoteEmbedder } from './remote.embedder';
import type { SearchBackend } from './search-backend.repository';

/** Vectors of queries that are kept, of some KB each: pages of one search ask once. */
const KEPT = 500;

/** After a failure nobody waits for the backend for so long, in ms, unless it says how long. */
const LEFT_ALONE_MS = 5_000;
const LEFT_ALONE_MAX_MS = 60_000;

/** Queries that a backend is asked about at once, and that wait besides, of all organizations together. */
const AT_ONCE = 8;
const WAITING_MAX = 200;

/** Whose turn it is, where many ask. */
export type TurnOwner = Parameters<FairTurns['take']>[0];

/** A query that the backend is asked about, for all of an organization who search for it meanwhile. */
interface Asking {
  answer: Promise<Float64Array | null>;
  /** How many wait for it: where none does any more, it loses its turn. */
  waiting: number;
  stop: AbortController;
}

/** Embeds what is searched for, by the backend that the documents were embedded by. Organizations take turns. */
@Injectable()
export class QueryEmbedder {
  private readonly kept = new LRUCache<string, Float64Array>({ max: KEPT });
  private readonly asking = new Map<string, Asking>();
  private readonly turns = new FairTurns(AT_ONCE, WAITING_MAX);
  private askAgainAt = 0;

  constructor(private readonly remote: RemoteEmbedder) {}

  /**
   * The vector of a query; null for one without words. Errors: 503 `service_unavailable` where the backend does not
   * answer, or this process is configured with another; 503 `service_overloaded` where too many wait to ask it; the
   * signal's reason.
   *
   * @param withinMs how long it is waited for; how long the backend has is its own time, from when it is asked
   */
  async embed(
    owner: TurnOwner,
    backend: SearchBackend,
    query: string,
    signal: AbortSignal,
    withinMs: number,
  ): Promise<Float64Array | null> {
    // one line: the first of several would count for more, as the name of a document does
    if (backend.identity === BUILTIN_IDENTITY) return embedBuiltin(meaningOf(query));
    if (!this.remote.isConfigured || backend.identity !== this.remote.identity) {
      throw unavailable('Documents are embedded by another backend than this process is configured with.');
    }
    if (query.trim() === '') return null;
    // of one organization: how soon an answer comes tells nothing of what others search for
    const key = JSON.stringify([owner.orgId, backend.backend_id, query]);
    const known = this.kept.get(key);
    if (known) return known;
    signal.throwIfAborted();
    const asking = this.asking.get(key) ?? this.begin(key, owner, backend, query);
    return this.answerOf(key, asking, signal, withinMs);
  }

  private begin(key: string, owner: TurnOwner, backend: SearchBackend, query: string): Asking {
    const stop = new AbortController();
    const asking: Asking = { answer: Promise.resolve(null), waiting: 0, stop };
    asking.answer = this.turns
      .take(owner, stop.signal, async () => {
        const vector = await this.ask(query);
        if (vector && vector.length !== backend.dimensions) {
          throw unavailable(
            'The backend of embeddings answered with a vector of another length than before.',
          );
        }
        if (vector) this.kept.set(key, vector);
        return vector;
      })
      .finally(() => this.forget(key, asking));
    // those who wait are told; it is no fault where none does
    asking.answer.catch(() => undefined);
    this.asking.set(key, asking);
    return asking;
  }

  /** Waits for an answer as long as this one may; others may wait on. */
  private async answerOf(
    key: string,
    asking: Asking,
    signal: AbortSignal,
    withinMs: number,
  ): Promise<Float64Array | null> {
    const over = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(withinMs))]);
    const left = new Promise<never>((_, reject) => {
      over.addEventListener(
        'abort',
        () => {
          reject(
            signal.aborted ? (signal.reason as Error) : unavailable('The query was not embedded in time.'),
          );
        },
        { once: true },
      );
    });
    asking.waiting++;
    try {
      return await Promise.race([asking.answer, left]);
    } finally {
      if (--asking.waiting === 0) {
        this.forget(key, asking);
        asking.stop.abort(new Error('nobody waits for it any more'));
      }
    }
  }

  private forget(key: string, asking: Asking): void {
    if (this.asking.get(key) === asking) this.asking.delete(key);
  }

  /** Once asked, it has its time, whoever waits: only so it is known whether it answers, and the next search has it. */
  private async ask(query: string): Promise<Float64Array | null> {
    if (performance.now() < this.askAgainAt) {
      throw unavailable('The backend of embeddings did not answer a moment ago.');
    }
    try {
      const [vector] = await this.remote.embed([query]);
      return vector ?? null;
    } catch (error) {
      if (!(error instanceof EmbeddingFailure)) throw error;
      if (!error.isOfTexts) this.leaveAlone(error.trouble, error.retryAfterMs);
      throw unavailable(error.message, error);
    }
  }

  private leaveAlone(trouble: string, forMs = LEFT_ALONE_MS): void {
    this.askAgainAt = performance.now() + Math.min(forMs, LEFT_ALONE_MAX_MS);
    rootLogger.warn({ trouble }, 'a query could not be embedded');
  }
}

const unavailable = (detail: string, cause?: unknown) =>
  problem.unavailable(`${detail} Search in the mode keyword, or give a vector.`, {
    headers: { 'Retry-After': String(LEFT_ALONE_MS / 1000) },
    cause,
  });
