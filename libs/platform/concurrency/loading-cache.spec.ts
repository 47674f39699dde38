import { LoadingCache } from './loading-cache';

describe('LoadingCache', () => {
  /** A source that counts its reads, which end when the test provides a value. */
  class Source {
    reads = 0;
    private pending: ((value: number | null) => void)[] = [];

    readonly read = (): Promise<number | null> => {
      this.reads += 1;
      return new Promise((resolve) => this.pending.push(resolve));
    };

    provide(value: number | null): void {
      for (const resolve of this.pending.splice(0)) resolve(value);
    }
  }

  it('reads once for concurrent callers, and keeps the value, including null', async () => {
    const [cache, source] = [new LoadingCache<number | null>(), new Source()];
    const values = [cache.find('a', source.read), cache.find('a', source.read)];
    expect(cache.getCached('a')).toBeUndefined();
    source.provide(null);
    expect(await Promise.all(values)).toEqual([null, null]);
    expect([cache.getCached('a'), await cache.find('a', source.read), source.reads]).toEqual([null, null, 1]);
  });

  it('does not keep a value whose lifetime is 0', async () => {
    const [cache, source] = [
      new LoadingCache<number | null>({ lifetimeMs: (value) => value ?? 0 }),
      new Source(),
    ];
    const values = cache.find('a', source.read);
    source.provide(null);
    expect([await values, cache.getCached('a')]).toEqual([null, undefined]);
  });

  it('does not keep what was read before an invalidation, and reads again', async () => {
    const [cache, before, after] = [new LoadingCache<number | null>(), new Source(), new Source()];
    const early = cache.find('a', before.read);
    cache.invalidate('a');
    const late = cache.find('a', after.read);
    after.provide(2);
    expect(await late).toBe(2);
    before.provide(1);
    expect([await early, cache.getCached('a')]).toEqual([1, 2]);
  });

  it('drops only the entries to which a rule applies', async () => {
    const [cache, source] = [new LoadingCache<number | null>(), new Source()];
    const values = ['a 1', 'a 2', 'b 1'].map((key) => cache.find(key, source.read));
    source.provide(1);
    await Promise.all(values);
    cache.invalidateAll((key) => key.startsWith('a '));
    expect(['a 1', 'a 2', 'b 1'].map((key) => cache.getCached(key))).toEqual([undefined, undefined, 1]);
  });

  it('does not keep a failure', async () => {
    const cache = new LoadingCache<number>();
    await expect(cache.find('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await cache.find('a', () => Promise.resolve(2))).toBe(2);
  });
});
