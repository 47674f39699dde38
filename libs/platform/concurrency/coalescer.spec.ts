import { Coalescer } from './coalescer';

class BadItem extends Error {}

describe('Coalescer', () => {
  let runs: (readonly string[])[];
  /** Ends the started batches. */
  let finish: (() => void)[];

  const upper = (items: readonly string[]): Promise<string[]> => {
    runs.push(items);
    if (items.includes('bad')) return Promise.reject(new BadItem());
    if (items.includes('down')) return Promise.reject(new Error('the database is down'));
    return new Promise((resolve) => finish.push(() => resolve(items.map((item) => item.toUpperCase()))));
  };
  const isOfOneItem = (error: unknown): boolean => error instanceof BadItem;
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const finishAll = (): void => {
    for (const end of finish.splice(0)) end();
  };

  beforeEach(() => {
    runs = [];
    finish = [];
  });

  it('runs the items of one turn of the event loop together, by key', async () => {
    const coalescer = new Coalescer({ run: upper, max: 10 });
    const results = Promise.all([
      coalescer.add(['a', 'b'], 'x'),
      coalescer.add(['a\nb'], 'y'),
      coalescer.add(['a', 'b'], 'z'),
    ]);
    await turn();
    expect(runs).toEqual([['x', 'z'], ['y']]);
    finishAll();
    expect(await results).toEqual(['X', 'Y', 'Z']);
  });

  it('runs the items of the next turn immediately, while earlier ones are still running', async () => {
    const coalescer = new Coalescer({ run: upper, max: 10 });
    const results = [coalescer.add(['a'], 'x')];
    await turn();
    results.push(coalescer.add(['a'], 'y'));
    await turn();
    expect(runs).toEqual([['x'], ['y']]);
    finishAll();
    expect(await Promise.all(results)).toEqual(['X', 'Y']);
  });

  it('collects items until the previous batch has ended, if it is sequential', async () => {
    const coalescer = new Coalescer({ run: upper, max: 2, isSequential: true });
    const first = coalescer.add(['a'], 'x');
    await turn();
    const others = Promise.all(['y', 'z', 'w'].map((item) => coalescer.add(['a'], item)));
    const elsewhere = coalescer.add(['b'], 'v');
    await turn();
    expect(runs).toEqual([['x'], ['v']]);
    finishAll();
    await Promise.all([first, elsewhere]);
    await turn();
    expect(runs.slice(2)).toEqual([['y', 'z']]);
    finishAll();
    await turn();
    finishAll();
    expect(await others).toEqual(['Y', 'Z', 'W']);
    expect(runs.slice(3)).toEqual([['w']]);
  });

  it('waits for delayed results before it starts the next batch', async () => {
    let end = (): void => undefined;
    const later = new Promise<string>((resolve) => (end = () => resolve('LATER')));
    const run = jest.fn((items: readonly string[]) => Promise.resolve(items.map(() => later)));
    const coalescer = new Coalescer({ run, max: 10, isSequential: true });
    const first = coalescer.add(['a'], 'x');
    await turn();
    void coalescer.add(['a'], 'y');
    await turn();
    expect(run).toHaveBeenCalledTimes(1);
    end();
    expect(await first).toBe('LATER');
    await turn();
    expect(run).toHaveBeenCalledTimes(2);
  });

  it('runs each item alone after an error that one item may have caused', async () => {
    const coalescer = new Coalescer({ run: upper, max: 10, isSequential: true, isOfOneItem });
    const results = Promise.allSettled(['x', 'bad', 'y'].map((item) => coalescer.add(['a'], item)));
    await turn();
    await turn();
    expect(runs).toEqual([['x', 'bad', 'y'], ['x'], ['bad'], ['y']]);
    finishAll();
    expect((await results).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('runs nothing again after any other error, because the batch may have taken effect', async () => {
    const coalescer = new Coalescer({ run: upper, max: 10, isSequential: true, isOfOneItem });
    const failed = await Promise.allSettled(['x', 'down'].map((item) => coalescer.add(['a'], item)));
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(runs).toHaveLength(1);
    const next = coalescer.add(['a'], 'y');
    await turn();
    finishAll();
    expect(await next).toBe('Y');
  });

  it('skips items whose request has ended before their batch starts', async () => {
    const coalescer = new Coalescer({ run: upper, max: 10, isSequential: true });
    const first = coalescer.add(['a'], 'x');
    await turn();
    const client = new AbortController();
    const left = coalescer.add(['a'], 'y', client.signal);
    const other = coalescer.add(['a'], 'z');
    client.abort(new Error('too late'));
    finishAll();
    await first;
    await expect(left).rejects.toThrow('too late');
    await turn();
    finishAll();
    expect(await other).toBe('Z');
    expect(runs).toEqual([['x'], ['z']]);
  });
});
