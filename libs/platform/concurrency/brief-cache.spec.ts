import { BriefCache } from './brief-cache';

describe('a brief cache', () => {
  /** A source that counts how often it is read, and answers when told to. */
  class Source {
    reads = 0;
    private answers: ((value: number | null) => void)[] = [];

    readonly read = (): Promise<number | null> => {
      this.reads += 1;
      return new Promise((resolve) => this.answers.push(resolve));
    };

    answer(value: number | null): void {
      for (const resolve of this.answers.splice(0)) resolve(value);
    }
  }

  it('reads once for callers at the same time, and keeps the value, null included', async () => {
    const [cache, source] = [new BriefCache<number | null>(), new Source()];
    const found = [cache.find('a', source.read), cache.find('a', source.read)];
    expect(cache.cached('a')).toBeUndefined();
    source.answer(null);
    expect(await Promise.all(found)).toEqual([null, null]);
    expect([cache.cached('a'), await cache.find('a', source.read), source.reads]).toEqual([null, null, 1]);
  });

  it('keeps only values that `isKept` accepts', async () => {
    const [cache, source] = [new BriefCache<number | null>((value) => value !== null), new Source()];
    const found = cache.find('a', source.read);
    source.answer(null);
    expect([await found, cache.cached('a')]).toEqual([null, undefined]);
  });

  it('does not keep what was read before an invalidation, and reads again', async () => {
    const [cache, before, after] = [new BriefCache<number | null>(), new Source(), new Source()];
    const early = cache.find('a', before.read);
    cache.invalidate('a');
    const late = cache.find('a', after.read);
    after.answer(2);
    expect(await late).toBe(2);
    before.answer(1);
    expect([await early, cache.cached('a')]).toEqual([1, 2]);
  });

  it('drops the entries of a prefix alone', async () => {
    const [cache, source] = [new BriefCache<number | null>(), new Source()];
    const found = ['a 1', 'a 2', 'b 1'].map((key) => cache.find(key, source.read));
    source.answer(1);
    await Promise.all(found);
    cache.invalidateAll('a ');
    expect(['a 1', 'a 2', 'b 1'].map((key) => cache.cached(key))).toEqual([undefined, undefined, 1]);
  });

  it('does not keep a failure', async () => {
    const cache = new BriefCache<number>();
    await expect(cache.find('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await cache.find('a', () => Promise.resolve(2))).toBe(2);
  });
});
