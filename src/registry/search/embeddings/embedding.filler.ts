import { Injectable } from '@nestjs/common';
import { rootLogger } from '#platform/logging';
import { embeddedText } from './embedded-text';
import { type Embedder, EmbeddingFailure, PROBE } from './embedder';
import { GIVEN_UP, type PendingEmbedding, PendingEmbeddingRepository } from './pending-embedding.repository';
import type { SearchBackend } from './search-backend.repository';

/** How long a text that was refused waits, in ms: twice as long each time, and a day once no more is expected. */
const REFUSED_MS = 5_000;
const GIVEN_UP_MS = 24 * 3_600_000;

/** How long a backend that is in trouble is left alone, in ms: twice as long each time, unless it says how long. */
const TROUBLE_MS = 1_000;
const TROUBLE_MAX_MS = 60_000;

/** Batches that are embedded in one go, before others are looked at. */
const BATCHES = 50;

/** Embeds what is pending. Any number of workers may do so at once. */
@Injectable()
export class EmbeddingFiller {
  private troubles = 0;
  private askAgainAt = 0;

  constructor(private readonly pending: PendingEmbeddingRepository) {}

  /** @param signal stops it between two batches, and gives up the one that is under way */
  async fill(backend: SearchBackend, embedder: Embedder, signal: AbortSignal): Promise<void> {
    for (let batch = 0; batch < BATCHES && !signal.aborted; batch++) {
      if (performance.now() < this.askAgainAt) return;
      const taken = await this.pending.take(backend.backend_id, embedder.batch);
      if (taken.length === 0) return;
      await this.embed(backend, embedder, taken, signal);
    }
  }

  private async embed(
    backend: SearchBackend,
    embedder: Embedder,
    taken: readonly PendingEmbedding[],
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const vectors = await this.ask(backend, embedder, taken.map(embeddedText), signal);
      this.troubles = 0;
      await this.pending.keep(
        backend.backend_id,
        taken.map((pending, index) => ({ pending, vector: vectors[index] ?? null })),
      );
    } catch (error) {
      const isOfTexts = await this.isOfTexts(error, backend, embedder, signal);
      if (isOfTexts && taken.length > 1) {
        // which of them it is, is told by asking for halves, down to each alone
        const half = Math.ceil(taken.length / 2);
        await this.embed(backend, embedder, taken.slice(0, half), signal);
        await this.embed(backend, embedder, taken.slice(half), signal);
        return;
      }
      const waitMs = isOfTexts ? refusedMs(taken[0]!) : this.troubleMs(error);
      await this.pending.giveBack(backend.backend_id, taken, waitMs, isOfTexts);
      if (!(error instanceof EmbeddingFailure) && !signal.aborted) throw error;
    }
  }

  private async ask(
    backend: SearchBackend,
    embedder: Embedder,
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<(Float64Array | null)[]> {
    const vectors = await embedder.embed(texts, signal);
    const odd = vectors.find((vector) => vector && vector.length !== backend.dimensions);
    if (odd) throw new EmbeddingFailure(`answered with ${odd.length} numbers, not ${backend.dimensions}`);
    return vectors;
  }

  /**
   * Whether the texts are at fault, and not the backend: it says so, or it fails of them and answers about another at the
   * same time. Else one text that it cannot cope with would keep all that it is asked for with from being embedded.
   */
  private async isOfTexts(
    error: unknown,
    backend: SearchBackend,
    embedder: Embedder,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (!(error instanceof EmbeddingFailure) || signal.aborted) return false;
    if (error.isOfTexts) return true;
    // one that asks to be left alone is
    if (error.retryAfterMs !== undefined) return false;
    try {
      await this.ask(backend, embedder, [PROBE], signal);
      return true;
    } catch {
      return false;
    }
  }

  private troubleMs(error: unknown): number {
    const { trouble = String(error), retryAfterMs } = error as Partial<EmbeddingFailure>;
    const waitMs = Math.min(retryAfterMs ?? TROUBLE_MS * 2 ** this.troubles, TROUBLE_MAX_MS);
    this.troubles = Math.min(this.troubles + 1, 10);
    this.askAgainAt = performance.now() + waitMs;
    rootLogger.warn({ trouble, wait_ms: waitMs }, 'documents could not be embedded');
    return waitMs;
  }
}

const refusedMs = ({ attempts }: PendingEmbedding): number =>
  attempts >= GIVEN_UP ? GIVEN_UP_MS : REFUSED_MS * 2 ** (attempts - 1);
