import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PeriodicTasks } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { BUILTIN_DIMENSIONS } from './builtin.embedder';
import { BuiltinBatches } from './builtin.batches';
import { type Embedder, EmbeddingFailure, PROBE } from './embedder';
import { EmbeddingFiller } from './embedding.filler';
import { PendingEmbeddingRepository } from './pending-embedding.repository';
import { RemoteEmbedder } from './remote.embedder';
import { type SearchBackend, SearchBackendRepository } from './search-backend.repository';
import { VectorIndexRepository } from './vector-index.repository';

const SWEEP_MS = 1_000;
const INDEX_MS = 60_000;
const WANT_AGAIN_MS = 5_000;

/** Of all documents, those that have to be embedded before searches go by another backend: it may refuse some. */
const COMPLETE_SHARE = 0.95;

/**
 * Keeps embeddings as they are to be, in a worker: asks for those that are pending; where the worker is configured with
 * another backend than searches go by, has all documents embedded by that, lets searches go by it once they are, and
 * clears the old ones away. Where the process cannot ask the old backend any more, nobody is expected to: then searches
 * go by the new one at once.
 */
@Injectable()
export class EmbeddingSweeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly own: Embedder;
  /** Whether the database knows that this worker wants its backend. */
  private isWanted = false;
  /** A backend that cannot be used is asked again then. */
  private wantAgainAt = 0;
  private isShortTold = false;
  /** Of each backend, who wrote documents when it was met, and does still. */
  private readonly before = new Map<number, string[]>();

  constructor(
    private readonly tasks: PeriodicTasks,
    private readonly backends: SearchBackendRepository,
    private readonly pending: PendingEmbeddingRepository,
    private readonly filler: EmbeddingFiller,
    private readonly indexes: VectorIndexRepository,
    private readonly builtin: BuiltinBatches,
    private readonly remote: RemoteEmbedder,
  ) {
    this.own = remote.isConfigured ? remote : builtin;
  }

  onApplicationBootstrap(): void {
    this.tasks.every('search embeddings', SWEEP_MS, () => this.sweep());
    this.tasks.every('search indexes', INDEX_MS, () => this.index());
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('the worker stops'));
  }

  async sweep(): Promise<void> {
    if (!this.isWanted && !(await this.want())) return;
    for (const backend of await this.backends.list()) await this.sweepOf(backend);
    await this.change();
  }

  /** Makes the index of each backend that documents are kept embedded by, where pgvector is there. */
  async index(): Promise<void> {
    if (!(await this.indexes.isUsable())) return;
    for (const backend of await this.backends.list()) {
      if (backend.is_active || backend.is_wanted) await this.indexes.create(backend);
    }
  }

  private async want(): Promise<boolean> {
    if (performance.now() < this.wantAgainAt) return false;
    try {
      await this.backends.want(this.own.identity, await this.dimensions());
    } catch (error) {
      if (!(error instanceof EmbeddingFailure)) throw error;
      this.wantAgainAt = performance.now() + WANT_AGAIN_MS;
      rootLogger.warn({ trouble: error.trouble }, 'the backend of embeddings cannot be used');
      return false;
    }
    this.isWanted = true;
    return true;
  }

  /** As many as the vector of a text has: a backend that embeds none is not even asked for those of documents. */
  private async dimensions(): Promise<number> {
    if (this.own === this.builtin) return BUILTIN_DIMENSIONS;
    const [vector] = await this.remote.embed([PROBE], this.stopping.signal);
    if (!vector) throw new EmbeddingFailure('answered with a vector of zeros');
    const known = (await this.backends.list()).find(({ identity }) => identity === this.own.identity);
    if (known && known.dimensions !== vector.length) {
      throw new EmbeddingFailure(`answered with ${vector.length} numbers, not ${known.dimensions} as before`);
    }
    return vector.length;
  }

  private async sweepOf(backend: SearchBackend): Promise<void> {
    if (!backend.is_active && !backend.is_wanted) {
      await this.indexes.drop(backend);
      await this.pending.deleteMost(backend.backend_id);
      await this.backends.drop(backend.backend_id);
      return;
    }
    const embedder = this.embedderOf(backend);
    if (!embedder) return;
    if (backend.is_wanted && (await this.isSeenByAll(backend))) {
      await this.pending.queueAll(backend.backend_id);
    }
    await this.filler.fill(backend, embedder, this.stopping.signal);
  }

  /**
   * Whether all who write documents see a backend: those who wrote when it was first met here are done. Nobody waits for
   * them, and they wait for nobody; it is looked at again with the next sweep.
   */
  private async isSeenByAll({ backend_id }: SearchBackend): Promise<boolean> {
    const known = this.before.get(backend_id);
    if (known?.length === 0) return true;
    const writers = await this.backends.writers();
    const before = known ?? writers;
    const left = before.filter((writer) => writers.includes(writer));
    this.before.set(backend_id, left);
    return left.length === 0;
  }

  /** Lets searches go by the backend that is wanted, where it is this worker's and the time has come. */
  private async change(): Promise<void> {
    const all = await this.backends.list();
    const wanted = all.find((one) => one.is_wanted && !one.is_active && one.identity === this.own.identity);
    const active = all.find((one) => one.is_active);
    if (!wanted || !active) return;
    if (this.embedderOf(active)) {
      if (!(await this.isComplete(wanted))) return;
      await this.index();
    } else if (!(await this.pending.hasBegun(wanted.backend_id))) return;
    await this.backends.activate(wanted.backend_id);
    rootLogger.info({ from: active.identity, to: wanted.identity }, 'searches go by another backend');
  }

  /** Whether so much is embedded by a backend that searches lose next to nothing by going by it. */
  private async isComplete({ backend_id, identity }: SearchBackend): Promise<boolean> {
    const { is_settled, documents, vectors, embedded } = await this.pending.progress(backend_id);
    if (!is_settled) return false;
    if (documents === 0 || (vectors > 0 && embedded >= documents * COMPLETE_SHARE)) return true;
    if (!this.isShortTold) {
      const found = { backend: identity, documents, embedded };
      rootLogger.warn(found, 'too many documents are refused for searches to go by another backend');
    }
    this.isShortTold = true;
    return false;
  }

  /** What this process can ask for vectors that are comparable with a backend's. */
  private embedderOf({ identity }: SearchBackend): Embedder | undefined {
    if (identity === this.builtin.identity) return this.builtin;
    return this.remote.isConfigured && identity === this.remote.identity ? this.remote : undefined;
  }
}
