import { LRUCache } from 'lru-cache';
import { SingleFlight } from './single-flight';

const MAX_ENTRIES = 1_000;
/** How long another process may go on with what it read before a change. */
const LIFETIME_MS = 1_000;

/**
 * Keeps what was read for at most 1 s, and reads a missing entry once for all callers that ask for it at the same time.
 * The values are shared by all callers, so they must not be changed.
 */
export class BriefCache<Value> {
  private readonly entries = new LRUCache<string, { value: Value }>({ max: MAX_ENTRIES, ttl: LIFETIME_MS });
  private readonly reads = new SingleFlight<Value>();
  /** Raised by each invalidation: what was read before it must not be kept after it. */
  private epoch = 0;

  /** @param isKept tells whether a value is kept. Defaults to all values. */
  constructor(private readonly isKept: (value: Value) => boolean = () => true) {}

  /** Returns a value that is kept, or undefined. */
  cached(key: string): Value | undefined {
    return this.entries.get(key)?.value;
  }

  /** Returns a value, and reads it if it is not kept. */
  async find(key: string, read: () => Promise<Value>): Promise<Value> {
    const entry = this.entries.get(key);
    return entry ? entry.value : this.reads.run(key, undefined, () => this.load(key, read));
  }

  /** Drops an entry. Calls of `find` that begin afterwards read it again. */
  invalidate(key: string): void {
    this.forget();
    this.entries.delete(key);
  }

  /** Drops the entries whose keys begin with this text. */
  invalidateAll(prefix: string): void {
    this.forget();
    for (const key of [...this.entries.keys()]) if (key.startsWith(prefix)) this.entries.delete(key);
  }

  private forget(): void {
    this.epoch += 1;
    this.reads.clear();
  }

  private async load(key: string, read: () => Promise<Value>): Promise<Value> {
    const { epoch } = this;
    const value = await read();
    if (epoch === this.epoch && this.isKept(value)) this.entries.set(key, { value });
    return value;
  }
}
