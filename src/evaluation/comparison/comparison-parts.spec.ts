import type { Scope } from '#platform/auth';
import { ComparisonCache } from './comparison-cache';
import { ComputingTurns } from './computing-turns';
import { PairedCases } from './paired-cases';
import type { PreparedComparison } from './prepared-comparison';
import { ScoredResults } from './scored-results';
import { pairedDifference, verdictOf } from './scorer-statistics';

const sides = async (scores: [number, number][]): Promise<PairedCases> => {
  const read = async (side: 0 | 1): Promise<ScoredResults> => {
    const scored = new ScoredResults(['s']);
    await scored.add(
      scores.map((pair, i) => ({
        result_id: `res_${side}${i}`,
        case_key: `case ${i}`,
        scores: { s: pair[side] },
        bytes: 1,
      })),
    );
    return scored;
  };
  return PairedCases.of(await read(0), await read(1));
};

describe('a verdict', () => {
  const found = { difference: 0.1, interval: { lower: 0.01, upper: 0.2 }, pValue: 0.049 };

  it('needs both the test and the interval', () => {
    expect(verdictOf(found)).toBe('improved');
    expect(verdictOf({ ...found, pValue: 0.05 })).toBe('inconclusive');
    expect(verdictOf({ ...found, interval: { lower: 0, upper: 0.2 } })).toBe('inconclusive');
    expect(verdictOf({ ...found, interval: null })).toBe('inconclusive');
    const worse = { difference: -0.1, interval: { lower: -0.2, upper: -0.01 }, pValue: 0.049 };
    expect(verdictOf(worse)).toBe('regressed');
    expect(verdictOf({ ...worse, interval: { lower: -0.2, upper: 0 } })).toBe('inconclusive');
  });
});

describe('what takes long', () => {
  it('lets others have their turns', async () => {
    const scores = Array.from({ length: 5_000 }, (_, i): [number, number] => [
      ((i * 7_919) % 5_003) / 5_003,
      ((i * 104_729) % 5_009) / 5_009,
    ]);
    const cases = await sides(scores);
    let turns = 0;
    const count = (): void => {
      turns++;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    await pairedDifference(cases, 's', ['a', 'b']);
    clearImmediate(next);
    expect(turns).toBeGreaterThan(5);
  });
});

describe('comparisons of many at once', () => {
  const scope = { workspaceId: 'wsp_1' } as Scope;
  const prepared = async (): Promise<PreparedComparison> => ({
    cases: await sides([[1, 0]]),
    scorers: [],
    scorerCount: 0,
  });
  /** Work that ends when it is told to. */
  const held = () => {
    let end = (): void => undefined;
    const promise = new Promise<void>((resolve) => (end = resolve));
    return { promise, end };
  };

  it('are worked out two at a time, workspaces in turn', async () => {
    const turns = new ComputingTurns();
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const ask = (workspace: string, name: string) =>
      turns.take(workspace, async () => {
        begun.push(name);
        const { promise, end } = held();
        ends.set(name, end);
        await promise;
      });
    const all = [ask('a', 'a1'), ask('a', 'a2'), ask('a', 'a3'), ask('a', 'a4'), ask('b', 'b1')];
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    await settle();
    expect(begun).toEqual(['a1', 'a2']);
    ends.get('a1')!();
    await settle();
    ends.get('a2')!();
    await settle();
    expect(begun).toEqual(['a1', 'a2', 'a3', 'b1']);
    for (const name of ['a3', 'b1']) ends.get(name)!();
    await settle();
    ends.get('a4')!();
    await Promise.all(all);
  });

  it('go on after one that fails', async () => {
    const turns = new ComputingTurns();
    const failing = () => turns.take('a', () => Promise.reject(new Error('no database')));
    for (let i = 0; i < 5; i++) await expect(failing()).rejects.toThrow('no database');
    expect(await turns.take('a', () => Promise.resolve('done'))).toBe('done');
  });

  it('of the same frozen experiments are worked out once, of running ones each time', async () => {
    const cache = new ComparisonCache(new ComputingTurns());
    let worked = 0;
    const work = async (): Promise<PreparedComparison> => {
      worked++;
      return prepared();
    };
    const get = (ids: string[], isFrozen: boolean) => cache.get(scope, ids, isFrozen, work);
    const [first, second] = await Promise.all([get(['a', 'b'], true), get(['a', 'b'], true)]);
    expect(second).toBe(first);
    expect(await get(['a', 'b'], true)).toBe(first);
    expect(worked).toBe(1);
    await get(['b', 'a'], true);
    await cache.get({ workspaceId: 'wsp_2' } as Scope, ['a', 'b'], true, work);
    expect(worked).toBe(3);
    await get(['a', 'b'], false);
    await get(['a', 'b'], false);
    expect(worked).toBe(5);
  });

  it('that fail are not kept', async () => {
    const cache = new ComparisonCache(new ComputingTurns());
    const fail = () => Promise.reject(new Error('no database'));
    await expect(cache.get(scope, ['a', 'b'], true, fail)).rejects.toThrow('no database');
    expect((await cache.get(scope, ['a', 'b'], true, prepared)).scorerCount).toBe(0);
  });
});
