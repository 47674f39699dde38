import { setImmediate as turn } from 'node:timers/promises';
import { FairLimiter } from './fair-limiter';
import { GroupCommit } from './group-commit';

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
  const commits = new GroupCommit<string, string, string>({
    owner: 'groups',
    limiter,
    prepare: (text) => {
      if (text.includes('invalid')) throw new Error(`${text} cannot be read`);
      return text.toUpperCase();
    },
    maxWeight,
    weightOf: (text) => text.length,
    isOutage: (error) => error === OUTAGE,
    write: async (items) => {
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

describe('GroupCommit', () => {
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
      new GroupCommit<string, string, string>({
        owner: 'groups',
        limiter: limitTo(1),
        prepare: (text) => text,
        maxWeight: 100,
        weightOf: () => 1,
        filling: { maxMs, isFull: (waiting) => waiting >= 3 },
        isOutage: () => false,
        write: (items) => {
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
    const commits = new GroupCommit<string, string, void>({
      owner: 'groups',
      limiter: limitTo(1),
      prepare: (text) => (prepared.push(text), text),
      maxWeight: 2,
      weightOf: () => 1,
      isOutage: () => false,
      write: (items) => new Promise((resolve) => writing.push(() => resolve(items.map(() => undefined)))),
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
    const commits = new GroupCommit<string, string, string>({
      owner: 'groups',
      limiter: limitTo(1),
      prepare: (text) => (seen.push(turns), text),
      maxWeight: 100,
      weightOf: () => 1,
      isOutage: () => false,
      write: (items) => Promise.resolve([...items]),
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
