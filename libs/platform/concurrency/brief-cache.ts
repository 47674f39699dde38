import { LRUCache } from 'lru-cache';
import { SingleFlight } from './single-flight';

const MAX_ENTRIES = 1_000;
/** Milliseconds for which another process may still use a value that has changed. */
const LIFETIME_MS = 1_000;

/**
 * Caches values for at most 1 s. Concurrent callers share one read of a missing entry. They share the values too, so they
 * must not change them.
 */
export class BriefCache<Value> {
  private readonly entries = new LRUCache<string, { value: Value }>({ max: MAX_ENTRIES, ttl: LIFETIME_MS });
  private readonly reads = new SingleFlight<Value>();
  /** Incremented by each invalidation. A value read before an invalidation must not be cached after it. */
  private epoch = 0;

  /** @param isCacheable tells whether a value may be cached. Default: every value. */
  constructor(private readonly isCacheable: (value: Value) => boolean = () => true) {}

  /** Returns the cached value, or undefined. */
  getCached(key: string): Value | undefined {
    return this.entries.get(key)?.value;
  }

  /** Returns a value, from the cache or from `read`. */
  async find(key: string, read: () => Promise<Value>): Promise<Value> {
    const entry = this.entries.get(key);
    return entry ? entry.value : this.reads.run(key, undefined, () => this.load(key, read));
  }

  /** Drops an entry. Later calls of `find` read it again. */
  invalidate(key: string): void {
    this.discardReads();
    this.entries.delete(key);
  }

  /** Drops the entries whose keys start with this prefix. */
  invalidateAll(prefix: string): void {
    this.discardReads();
    for (const key of [...this.entries.keys()]) if (key.startsWith(prefix)) this.entries.delete(key);
  }

  private discardReads(): void {
    this.epoch += 1;
    this.reads.clear();
  }

  private async load(key: string, read: () => Promise<Value>): Promise<Value> {
    const { epoch } = this;
    const value = await read();
    if (epoch === this.epoch && this.isCacheable(value)) this.entries.set(key, { value });
    return value;
  }
}
