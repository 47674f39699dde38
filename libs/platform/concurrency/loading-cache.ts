import { LRUCache } from 'lru-cache';
import { SingleFlight } from './single-flight';

export interface CacheRules<Value> {
  /** Milliseconds for which a value is used; not at all for 0. Default: 1 s. Another process may still use it as long. */
  lifetimeMs?: number | ((value: Value) => number);
  /** Maximum number of entries. The least recently used ones are dropped. Default: 1,000. */
  max?: number;
  /** Returns how many entries a value counts as. Default: 1. */
  weightOf?: (value: Value) => number;
}

/**
 * Caches values by key for some time. Concurrent callers share one read of a missing entry. They share the values too, so
 * they must not change them. Failures are not cached.
 */
export class LoadingCache<Value> {
  private readonly entries: LRUCache<string, { value: Value; until: number }>;
  private readonly reads = new SingleFlight<Value>();
  private readonly lifetimeMs: number | ((value: Value) => number);
  /** Incremented by each invalidation. A value read before an invalidation must not be cached after it. */
  private epoch = 0;

  constructor({ lifetimeMs = 1_000, max = 1_000, weightOf }: CacheRules<Value> = {}) {
    this.lifetimeMs = lifetimeMs;
    const bySize = weightOf && {
      maxSize: max,
      sizeCalculation: (entry: { value: Value; until: number }) => weightOf(entry.value),
    };
    this.entries = new LRUCache({ max, ...bySize });
  }

  /** Returns the cached value, or undefined. */
  getCached(key: string): Value | undefined {
    const entry = this.entries.get(key);
    return entry && entry.until > performance.now() ? entry.value : undefined;
  }

  /**
   * Returns a value, from the cache or from `read`.
   *
   * @param read receives a signal that is aborted when every caller has left
   * @param signal detaches this caller only; the others continue to wait
   */
  async find(
    key: string,
    read: (signal: AbortSignal) => Promise<Value>,
    signal?: AbortSignal,
  ): Promise<Value> {
    const entry = this.entries.get(key);
    if (entry && entry.until > performance.now()) return entry.value;
    return this.reads.run(key, signal, (flight) => this.load(key, () => read(flight)));
  }

  /** Drops an entry. Later calls of `find` read it again. */
  invalidate(key: string): void {
    this.discardReads();
    this.entries.delete(key);
  }

  /** Drops the entries to which a rule applies; by default all. */
  invalidateAll(applies: (key: string, value: Value) => boolean = () => true): void {
    this.discardReads();
    for (const [key, { value }] of this.entries) if (applies(key, value)) this.entries.delete(key);
  }

  private discardReads(): void {
    this.epoch += 1;
    this.reads.clear();
  }

  private async load(key: string, read: () => Promise<Value>): Promise<Value> {
    const { epoch, lifetimeMs } = this;
    const value = await read();
    const ms = typeof lifetimeMs === 'number' ? lifetimeMs : lifetimeMs(value);
    if (ms > 0 && epoch === this.epoch) this.entries.set(key, { value, until: performance.now() + ms });
    return value;
  }
}
