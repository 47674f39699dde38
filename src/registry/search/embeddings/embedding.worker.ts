import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Environment } from '#platform/config';
import { PeriodicTasks } from '#platform/jobs';
import { embedBuiltin, embeddedText, embeddingIdentity } from '../../../resources';
import { EmbeddingRepository, type PendingEmbedding } from './embedding.repository';
import { EmbeddingFailure, RemoteEmbedder } from './remote.embedder';
import { VectorIndexRepository } from './vector-index.repository';

const FILL_MS = 1_000;
const UPKEEP_MS = 60_000;

/** Texts per request. All model servers accept at least 32. */
const BATCH = 32;

/** Batches per run. */
const BATCHES = 50;

/**
 * Embeds documents in the background: new ones if there is a remote backend, and documents that another embedder embedded.
 * The worker that started last decides the embedder, and workers with another one stop embedding. A text that fails is retried
 * alone, so that it does not delay the rest of its batch.
 */
@Injectable()
export class EmbeddingWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly identity: string;
  private isStarted = false;

  constructor(
    environment: Environment,
    private readonly tasks: PeriodicTasks,
    private readonly embeddings: EmbeddingRepository,
    private readonly indexes: VectorIndexRepository,
    private readonly remote: RemoteEmbedder,
  ) {
    this.identity = embeddingIdentity(environment);
  }

  onApplicationBootstrap(): void {
    this.tasks.every('search embeddings', FILL_MS, () => this.fill());
    this.tasks.every('search indexes', UPKEEP_MS, () => this.upkeep());
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('the worker is stopping'));
  }

  /** Embeds the documents that are due: new ones first, then retries. */
  async fill(): Promise<void> {
    if (!(await this.isSelected())) return;
    for (const isRetry of [false, true]) {
      for (let batch = 0; batch < BATCHES; batch++) {
        if (this.stopping.signal.aborted || this.remote.isPaused) return;
        const leased = await this.embeddings.lease(isRetry ? 1 : BATCH, isRetry);
        if (leased.length === 0) break;
        await this.embed(leased);
      }
    }
  }

  /** Marks the embeddings by other embedders as pending, and maintains the pgvector index. */
  async upkeep(): Promise<void> {
    if (!(await this.isSelected())) return;
    await this.embeddings.markStale(this.identity);
    if (!(await this.indexes.isUsable())) return;
    await this.indexes.dropOthers(this.identity);
    const dimensions = await this.embeddings.dimensions(this.identity);
    if (dimensions !== undefined) await this.indexes.create(this.identity, dimensions);
  }

  private async isSelected(): Promise<boolean> {
    if (this.isStarted) return this.embeddings.isSelected(this.identity);
    await this.embeddings.select(this.identity);
    await this.embeddings.markStale(this.identity);
    this.isStarted = true;
    return true;
  }

  private async embed(leased: readonly PendingEmbedding[]): Promise<void> {
    try {
      const vectors = await this.vectorsOf(leased.map(embeddedText));
      await this.embeddings.store(
        this.identity,
        leased.map((pending, index) => ({ pending, vector: vectors[index] ?? null })),
      );
    } catch (error) {
      const { aborted } = this.stopping.signal;
      await this.embeddings.release(leased, !aborted);
      if (aborted) return;
      if (!(error instanceof EmbeddingFailure)) throw error;
      this.remote.pauseAfter(error);
    }
  }

  private async vectorsOf(texts: readonly string[]): Promise<(Float64Array | null)[]> {
    if (!this.remote.isConfigured) return texts.map(embedBuiltin);
    const vectors = await this.remote.embed(texts, this.stopping.signal);
    const dimensions = await this.embeddings.dimensions(this.identity);
    const mismatch = vectors.find((vector) => vector && vector.length !== (dimensions ?? vector.length));
    if (mismatch)
      throw new EmbeddingFailure(`returned a vector of ${mismatch.length} numbers instead of ${dimensions}`);
    return vectors;
  }
}
