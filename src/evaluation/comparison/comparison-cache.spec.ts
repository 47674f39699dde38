import { setImmediate as settle } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Scope } from '#platform/auth';
import { Pace } from '../statistics/pace';
import { ComparisonCache } from './comparison-cache';
import { preparedOf } from './comparison.fixture';
import type { PreparedComparison } from './prepared-comparison';

const scope = { workspaceId: 'wsp_1' } as Scope;
const prepared = (): Promise<PreparedComparison> => preparedOf([{ s: 1 }], [{ s: 0 }], ['s']);

describe('comparisons of frozen experiments', () => {
  it('are worked out once, each way round and workspace for itself', async () => {
    const cache = new ComparisonCache();
    let worked = 0;
    const work = (): Promise<PreparedComparison> => {
      worked++;
      return prepared();
    };
    const [first, second] = await Promise.all([
      cache.prepare(scope, ['a', 'b'], work),
      cache.prepare(scope, ['a', 'b'], work),
    ]);
    expect(second).toBe(first);
    expect(await cache.prepare(scope, ['a', 'b'], work)).toBe(first);
    expect(cache.find(scope, ['a', 'b'])).toBe(first);
    expect(worked).toBe(1);
    await cache.prepare(scope, ['b', 'a'], work);
    await cache.prepare({ workspaceId: 'wsp_2' } as Scope, ['a', 'b'], work);
    expect(worked).toBe(3);
    expect(cache.find({ workspaceId: 'wsp_3' } as Scope, ['a', 'b'])).toBeUndefined();
  });

  it('have their statistics worked out once', async () => {
    const cache = new ComparisonCache();
    const one = await cache.prepare(scope, ['a', 'b'], prepared);
    expect(one.known).toBeUndefined();
    const compare = () => cache.compare(scope, ['a', 'b'], one, new Pace());
    const [first, second] = await Promise.all([compare(), compare()]);
    expect(second).toBe(first);
    expect(await compare()).toBe(first);
    expect(one.known).toBe(first);
  });

  it('that fail are not kept, and are worked out for the next who waits', async () => {
    const cache = new ComparisonCache();
    const failing = cache.prepare(scope, ['a', 'b'], () => Promise.reject(new Error('the client has gone')));
    const other = cache.prepare(scope, ['a', 'b'], prepared);
    await expect(failing).rejects.toThrow('the client has gone');
    expect((await other).scorerCount).toBe(1);
    expect(cache.find(scope, ['a', 'b'])).toBe(await other);
  });

  it('take no more memory than is accounted for', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    // what is free after one collection is given back by the next
    const buffers = async (): Promise<number> => {
      for (let i = 0; i < 3; i++) {
        collect();
        await settle();
      }
      return process.memoryUsage().arrayBuffers;
    };
    const scorers = Array.from({ length: 20 }, (_, i) => `scorer ${i}`);
    const scores = (side: number) =>
      Array.from({ length: 2_000 }, (_, i) =>
        Object.fromEntries(scorers.map((scorer, j) => [scorer, ((i + 1) * (j + 7) * (side + 3)) % 11])),
      );
    const cache = new ComparisonCache();
    const before = await buffers();
    await cache.prepare(scope, ['a', 'b'], () => preparedOf(scores(0), scores(1), scorers));
    const one = cache.find(scope, ['a', 'b'])!;
    await cache.compare(scope, ['a', 'b'], one, new Pace());
    for (const scorer of [undefined, ...scorers]) one.order(scorer);
    const held = (await buffers()) - before;
    // the differences and an order of each scorer, and next to nothing besides: the scores are not among them
    expect(held).toBeGreaterThan(2_000 * 20 * 12);
    expect(held).toBeLessThan(2_000 * 21 * 12 + 200_000);
    expect(held).toBeLessThan(cache.size);
    expect(cache.size).toBeLessThan(2 * held);
  });
});
