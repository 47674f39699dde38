import { setImmediate as turn } from 'node:timers/promises';
import { FairLimiter } from './fair-limiter';
import { Batcher } from './batcher';

const NEVER = new AbortController().signal;
const OUTAGE = new Error('the store is unavailable');

const limitTo = (concurrency: number): FairLimiter => new FairLimiter({ concurrency });

/** Waits until everything that can proceed has done so: forming a group takes several turns of the event loop. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await turn();
}

/**
 * A store of texts. Preparing a text converts it to upper case, and writes wait for `proceed`. Writing a text with `bad`
 * fails, and so does preparing a text with `invalid`.
 */
function store(limiter = limitTo(1), maxWeight = 100) {
  const groups: string[][] = [];
  const waiting: (() => void)[] = [];
  let isDown = false;
  const commits = new Batcher<string, string>({
    shared: { owner: 'groups', limiter },
    prepare: (text) => {
      if (text.includes('invalid')) throw new Error(`${text} cannot be read`);
      return text.toUpperCase();
    },
    max: maxWeight,
    weightOf: (text) => text.length,
    isOfOneItem: (error) => error !== OUTAGE,
    run: async (items) => {
      groups.push([...items]);
      await new Promise<void>((resolve) => waiting.push(resolve));
      if (isDown) throw OUTAGE;
      if (items.some((text) => text.includes('BAD'))) throw new Error('cannot be written');
      return items.map((text) => `${text} is written`);
    },
  });
  const proceed = async (): Promise<void> => {
    await settle();
    while (waiting.length > 0) {
      waiting.shift()!();
      await settle();
    }
  };
  const add = (text: string, owner = 'o', signal = NEVER): Promise<string> =>
    commits.add([owner], text, signal).catch((error: unknown) => (error as Error).message);
  /** Starts writing a group, so that later items wait. */
  const occupy = async (): Promise<void> => {
    void add('1');
    await settle();
    groups.length = 0;
  };
  return { groups, waiting, add, occupy, proceed, goDown: () => (isDown = true) };
}

describe('a Batcher whose owners share batches', () => {
  it('writes items that arrive during a write as one group', async () => {
    const { groups, add, proceed } = store();
    const first = add('a');
    await settle();
    const others = ['b', 'c'].map((text) => add(text));
    await proceed();
    expect(await Promise.all([first, ...others])).toEqual(['A is written', 'B is written', 'C is written']);
    expect(groups).toEqual([['A'], ['B', 'C']]);
  });

  it('writes a lone item immediately, and several groups in parallel up to the limit', async () => {
    const { groups, add, proceed } = store(limitTo(2));
    const answers: Promise<string>[] = [];
    for (const text of ['a', 'b', 'c']) {
      answers.push(add(text));
      await settle();
    }
    expect(groups).toEqual([['A'], ['B']]);
    await proceed();
    expect(await Promise.all(answers)).toHaveLength(3);
    const last = add('d');
    await proceed();
    expect(await last).toBe('D is written');
  });

  it('closes a group when the weight of its prepared items reaches the limit', async () => {
    const { groups, add, occupy, proceed } = store(limitTo(1), 4);
    await occupy();
    const answers = Promise.all(['aaa', 'bb', 'cccccccc', 'd'].map((text) => add(text)));
    await proceed();
    await answers;
    expect(groups).toEqual([['AAA', 'BB'], ['CCCCCCCC'], ['D']]);
  });

  it('waits for more items until a group is full, or has waited for its time', async () => {
    const groups: string[][] = [];
    const commits = (maxMs: number) =>
      new Batcher<string, string>({
        shared: {
          owner: 'groups',
          limiter: limitTo(1),
          filling: { maxMs, isFull: (waiting) => waiting >= 3 },
        },
        max: 100,
        isOfOneItem: () => true,
        run: (items) => {
          groups.push([...items]);
          return Promise.resolve([...items]);
        },
      });
    const patient = commits(60_000);
    const add = (text: string): Promise<string> => patient.add(['o'], text, NEVER);
    const answers = [add('a'), add('b')];
    await settle();
    expect(groups).toEqual([]);
    answers.push(add('c'));
    expect(await Promise.all(answers)).toEqual(['a', 'b', 'c']);
    expect(await Promise.all(['d', 'e', 'f', 'g'].map((text) => add(text)))).toHaveLength(4);
    expect(await commits(1).add(['o'], 'h', NEVER)).toBe('h');
    expect(groups).toEqual([['a', 'b', 'c'], ['d', 'e', 'f', 'g'], ['h']]);
  });

  it('does not prepare items that do not fit the group', async () => {
    const prepared: string[] = [];
    const writing: (() => void)[] = [];
    const commits = new Batcher<string, void>({
      shared: { owner: 'groups', limiter: limitTo(1) },
      prepare: (text) => (prepared.push(text), text),
      max: 2,
      weightOf: () => 1,
      isOfOneItem: () => true,
      run: (items) => new Promise((resolve) => writing.push(() => resolve(items.map(() => undefined)))),
    });
    const answers = Promise.all(['1', 'a', 'b', 'c'].map((text) => commits.add(['o'], text, NEVER)));
    await settle();
    expect(prepared).toEqual(['1']);
    writing.shift()!();
    await settle();
    expect(prepared).toEqual(['1', 'a', 'b']);
    writing.shift()!();
    await settle();
    writing.shift()!();
    await answers;
  });

  it('writes valid items despite a flood of invalid ones', async () => {
    const { groups, add, proceed } = store();
    let isOver = false;
    const flood = Array.from({ length: 3 }, async () => {
      while (!isOver) await add('invalid', 'flooding');
    });
    const answer = add('good');
    await settle();
    expect(groups).toEqual([['GOOD']]);
    isOver = true;
    await proceed();
    await Promise.all([answer, ...flood]);
  });

  it('yields to the event loop between two items', async () => {
    const seen: number[] = [];
    let turns = 0;
    const count = (): void => {
      turns++;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const commits = new Batcher<string, string>({
      shared: { owner: 'groups', limiter: limitTo(1) },
      prepare: (text) => (seen.push(turns), text),
      max: 100,
      weightOf: () => 1,
      isOfOneItem: () => true,
      run: (items) => Promise.resolve([...items]),
    });
    await Promise.all(['a', 'b', 'c'].map((text) => commits.add(['o'], text, NEVER)));
    clearImmediate(next);
    expect(new Set(seen).size).toBe(3);
  });

  it('lets organizations take turns', async () => {
    const { groups, add, occupy, proceed } = store(limitTo(1), 2);
    await occupy();
    const answers = Promise.all([...['a1', 'a2', 'a3'].map((text) => add(text, 'a')), add('b1', 'b')]);
    await proceed();
    await answers;
    expect(groups).toEqual([['A1'], ['B1'], ['A2'], ['A3']]);
  });

  it('rejects an item that cannot be prepared, and writes the others', async () => {
    const { groups, add, occupy, proceed } = store();
    await occupy();
    const answers = Promise.all(['invalid', 'b'].map((text) => add(text)));
    await proceed();
    expect(await answers).toEqual(['invalid cannot be read', 'B is written']);
    expect(groups).toEqual([['B']]);
  });

  it('splits a group that cannot be written, so that one item fails no other', async () => {
    const { groups, add, occupy, proceed } = store();
    await occupy();
    const answers = Promise.all(['a', 'b', 'bad', 'd', 'e'].map((text) => add(text)));
    await proceed();
    expect(await answers).toEqual([
      'A is written',
      'B is written',
      'cannot be written',
      'D is written',
      'E is written',
    ]);
    expect(groups).toEqual([['A', 'B', 'BAD', 'D', 'E'], ['A', 'B', 'BAD'], ['A', 'B'], ['BAD'], ['D', 'E']]);
  });

  it('does not write aborted items again after it splits a group', async () => {
    const { groups, waiting, add, occupy, proceed } = store();
    await occupy();
    const client = new AbortController();
    const answers = Promise.all([add('a'), add('b', 'o', client.signal), add('bad')]);
    waiting.shift()!();
    await settle();
    client.abort(new Error('gone'));
    await proceed();
    expect(await answers).toEqual(['A is written', 'gone', 'cannot be written']);
    expect(groups).toEqual([['A', 'B', 'BAD'], ['A'], ['BAD']]);
  });

  it('rejects a whole group during an outage, without splitting it', async () => {
    const { groups, add, occupy, proceed, goDown } = store();
    await occupy();
    goDown();
    const answers = Promise.all(['a', 'b'].map((text) => add(text)));
    await proceed();
    expect(await answers).toEqual(Array(2).fill('the store is unavailable'));
    expect(groups).toEqual([['A', 'B']]);
  });

  it('does not write aborted items, unless their write has started', async () => {
    const { groups, add, proceed } = store();
    const client = new AbortController();
    const begun = add('begun', 'o', client.signal);
    await settle();
    const answers = Promise.all([begun, add('waits', 'o', client.signal), add('stays')]);
    client.abort(new Error('gone'));
    await proceed();
    expect(await answers).toEqual(['BEGUN is written', 'gone', 'STAYS is written']);
    expect(groups).toEqual([['BEGUN'], ['STAYS']]);
    expect(() => add('late', 'o', client.signal)).toThrow('gone');
  });

  it('shares a limiter, and writes the items that arrived while it waited as one group', async () => {
    const limiter = limitTo(1);
    const [one, other] = [store(limiter), store(limiter)];
    const first = one.add('1');
    await settle();
    const answers = Promise.all([first, other.add('a'), other.add('b'), one.add('2')]);
    await settle();
    expect([one.groups, other.groups]).toEqual([[['1']], []]);
    await one.proceed();
    expect(other.groups).toEqual([['A', 'B']]);
    await other.proceed();
    await one.proceed();
    expect(await answers).toHaveLength(4);
    expect(one.groups).toEqual([['1'], ['2']]);
  });
});

class BadItem extends Error {}

describe('a Batcher with a batch for each owner', () => {
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
    const batcher = new Batcher({ run: upper, max: 10 });
    const results = Promise.all([
      batcher.add(['a', 'b'], 'x'),
      batcher.add(['a\nb'], 'y'),
      batcher.add(['a', 'b'], 'z'),
    ]);
    await turn();
    expect(runs).toEqual([['x', 'z'], ['y']]);
    finishAll();
    expect(await results).toEqual(['X', 'Y', 'Z']);
  });

  it('runs the items of the next turn immediately, while earlier ones are still running', async () => {
    const batcher = new Batcher({ run: upper, max: 10 });
    const results = [batcher.add(['a'], 'x')];
    await turn();
    results.push(batcher.add(['a'], 'y'));
    await turn();
    expect(runs).toEqual([['x'], ['y']]);
    finishAll();
    expect(await Promise.all(results)).toEqual(['X', 'Y']);
  });

  it('collects items until the previous batch has ended, if it is sequential', async () => {
    const batcher = new Batcher({ run: upper, max: 2, isSequential: true });
    const first = batcher.add(['a'], 'x');
    await turn();
    const others = Promise.all(['y', 'z', 'w'].map((item) => batcher.add(['a'], item)));
    const elsewhere = batcher.add(['b'], 'v');
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
    const batcher = new Batcher({ run, max: 10, isSequential: true });
    const first = batcher.add(['a'], 'x');
    await turn();
    void batcher.add(['a'], 'y');
    await turn();
    expect(run).toHaveBeenCalledTimes(1);
    end();
    expect(await first).toBe('LATER');
    await turn();
    expect(run).toHaveBeenCalledTimes(2);
  });

  it('splits a batch after an error that one item may have caused', async () => {
    const batcher = new Batcher({ run: upper, max: 10, isSequential: true, isOfOneItem });
    const results = Promise.allSettled(['x', 'bad', 'y'].map((item) => batcher.add(['a'], item)));
    await turn();
    await turn();
    expect(runs).toEqual([['x', 'bad', 'y'], ['x', 'bad'], ['x']]);
    finishAll();
    await turn();
    finishAll();
    expect((await results).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(runs.slice(3)).toEqual([['bad'], ['y']]);
  });

  it('runs nothing again after any other error, because the batch may have taken effect', async () => {
    const batcher = new Batcher({ run: upper, max: 10, isSequential: true, isOfOneItem });
    const failed = await Promise.allSettled(['x', 'down'].map((item) => batcher.add(['a'], item)));
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(runs).toHaveLength(1);
    const next = batcher.add(['a'], 'y');
    await turn();
    finishAll();
    expect(await next).toBe('Y');
  });

  it('skips items whose request has ended before their batch starts', async () => {
    const batcher = new Batcher({ run: upper, max: 10, isSequential: true });
    const first = batcher.add(['a'], 'x');
    await turn();
    const client = new AbortController();
    const left = batcher.add(['a'], 'y', client.signal);
    const other = batcher.add(['a'], 'z');
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
