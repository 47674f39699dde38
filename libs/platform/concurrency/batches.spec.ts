import { Batches } from './batches';

describe('Batches', () => {
  let runs: [string, readonly string[]][];
  /** Ends the runs that have begun. */
  let finish: (() => void)[];

  const upper = (key: string, items: readonly string[]): Promise<string[]> => {
    runs.push([key, [...items]]);
    if (items.includes('bad')) return Promise.reject(new Error('one of them is bad'));
    return new Promise((resolve) => finish.push(() => resolve(items.map((item) => item.toUpperCase()))));
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const finishAll = (): void => {
    for (const end of finish.splice(0)) end();
  };

  beforeEach(() => {
    runs = [];
    finish = [];
  });

  it('runs the items of one turn of the event loop together, by key', async () => {
    const batches = new Batches({ run: upper });
    const results = Promise.all([batches.add('a', 'x'), batches.add('b', 'y'), batches.add('a', 'z')]);
    await turn();
    expect(runs).toEqual([['a', ['x', 'z']], ['b', ['y']]]); // prettier-ignore
    finishAll();
    expect(await results).toEqual(['X', 'Y', 'Z']);
  });

  it('runs the items of the next turn at once, even if earlier ones are under way', async () => {
    const batches = new Batches({ run: upper });
    const first = batches.add('a', 'x');
    await turn();
    const second = batches.add('a', 'y');
    await turn();
    expect(runs).toEqual([['a', ['x']], ['a', ['y']]]); // prettier-ignore
    finishAll();
    expect([await first, await second]).toEqual(['X', 'Y']);
  });

  it('collects items until the batch before has ended, if batches take turns', async () => {
    const batches = new Batches({ run: upper, takesTurns: true, max: 2 });
    const first = batches.add('a', 'x');
    await turn();
    const others = Promise.all(['y', 'z', 'w'].map((item) => batches.add('a', item)));
    const elsewhere = batches.add('b', 'v');
    await turn();
    expect(runs).toEqual([['a', ['x']], ['b', ['v']]]); // prettier-ignore
    finishAll();
    await Promise.all([first, elsewhere]);
    await turn();
    expect(runs.slice(2)).toEqual([['a', ['y', 'z']]]);
    finishAll();
    await turn();
    finishAll();
    expect(await others).toEqual(['Y', 'Z', 'W']);
    expect(runs.slice(3)).toEqual([['a', ['w']]]);
  });

  it('fails for the items of its batch only, and goes on', async () => {
    const batches = new Batches({ run: upper, takesTurns: true });
    const failed = await Promise.allSettled([batches.add('a', 'bad'), batches.add('a', 'x')]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const next = batches.add('a', 'y');
    await turn();
    finishAll();
    expect(await next).toBe('Y');
  });
});
