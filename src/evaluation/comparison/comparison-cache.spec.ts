import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Scope } from '#platform/auth';
import { Pace } from '#platform/turns';
import { ComparisonCache, type PrepareWork } from './comparison-cache';
import { preparedOf } from './comparison.fixture';
import type { PreparedComparison } from './prepared-comparison';

const NEVER = new AbortController().signal;
const scope = { workspaceId: 'wsp_1' } as Scope;
const prepared = (): Promise<PreparedComparison> => preparedOf([{ s: 1 }], [{ s: 0 }], ['s']);

describe('comparisons of frozen experiments', () => {
  it('are worked out once, each way round and workspace for itself', async () => {
    const cache = new ComparisonCache();
    let worked = 0;
    const work: PrepareWork = (kept) => {
      worked++;
      return Promise.resolve(kept() ?? prepared());
    };
    const of = (ids: string[], by = scope) => cache.of(by, ids, false, NEVER, work);
    const [first, second] = await Promise.all([of(['a', 'b']), of(['a', 'b'])]);
    expect(second).toBe(first);
    expect(await of(['a', 'b'])).toBe(first);
    expect(worked).toBe(1);
    await of(['b', 'a']);
    await of(['a', 'b'], { workspaceId: 'wsp_2' } as Scope);
    expect(worked).toBe(3);
  });

  it('have their statistics worked out once, and keep them', async () => {
    const cache = new ComparisonCache();
    let worked = 0;
    const compare: PrepareWork = async (kept) => {
      const one = kept() ?? (await prepared());
      worked++;
      await one.compare(new Pace());
      return one;
    };
    const of = (withStatistics: boolean, work: PrepareWork) =>
      cache.of(scope, ['a', 'b'], withStatistics, NEVER, work);
    const one = await of(false, prepared);
    expect(one.known).toBeUndefined();
    const [first, second] = await Promise.all([of(true, compare), of(true, compare)]);
    expect([first, second]).toEqual([one, one]);
    expect([await of(true, compare), await of(false, prepared)]).toEqual([one, one]);
    expect([worked, one.known?.length]).toEqual([1, 1]);
  });

  it('with statistics are not replaced by ones without, that took longer', async () => {
    const cache = new ComparisonCache();
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const slow = cache.of(scope, ['a', 'b'], false, NEVER, async () => {
      await finished;
      return prepared();
    });
    const whole = await cache.of(scope, ['a', 'b'], true, NEVER, async () => {
      const one = await prepared();
      await one.compare(new Pace());
      return one;
    });
    finish();
    expect(await slow).not.toBe(whole);
    expect(await cache.of(scope, ['a', 'b'], true, NEVER, prepared)).toBe(whole);
  });

  it('that fail are not kept, and are worked out when they are asked for again', async () => {
    const cache = new ComparisonCache();
    const of = (work: PrepareWork) => cache.of(scope, ['a', 'b'], false, NEVER, work);
    await expect(of(() => Promise.reject(new Error('no connection')))).rejects.toThrow('no connection');
    const next = await of(prepared);
    expect(await of(() => Promise.reject(new Error('is not asked')))).toBe(next);
  });

  it('take no more memory than is accounted for', async () => {
    const [cases, scorers] = [2_000, 20];
    const program = path.join(__dirname, 'comparison-memory.child.js');
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--expose-gc',
      program,
      `${cases}`,
      `${scorers}`,
    ]);
    const { held, accounted } = JSON.parse(stdout) as { held: number; accounted: number };
    // the differences and an order of each scorer, and next to nothing besides: the scores are not among them
    expect(held).toBeGreaterThan(cases * scorers * 12);
    expect(held).toBeLessThan(cases * (scorers + 1) * 12 + 200_000);
    expect(held).toBeLessThan(accounted);
    expect(accounted).toBeLessThan(2 * held);
  });
});
