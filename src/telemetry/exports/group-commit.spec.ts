import { setImmediate as turn } from 'node:timers/promises';
import { FairLimiter } from '#platform/concurrency';
import { GroupCommit } from './group-commit';

const NEVER = new AbortController().signal;
const OUTAGE = new Error('the store is away');

const limitTo = (concurrency: number): FairLimiter => new FairLimiter({ concurrency });

/** Until all that is not held back is done: groups are put together over some turns of the event loop. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await turn();
}

/**
 * Writes texts when it is told to, in capitals. Of what has `bad` in it nothing can be written; what has `refused` in it
 * cannot be made ready.
 */
function store(limiter = limitTo(1), maxWeight = 100) {
  const groups: string[][] = [];
  const waiting: (() => void)[] = [];
  let isAway = false;
  const commits = new GroupCommit<string, string, string>({
    limiter,
    prepare: (text) => {
      if (text.includes('refused')) throw new Error(`${text} cannot be read`);
      return text.toUpperCase();
    },
    maxWeight,
    weightOf: (text) => text.length,
    isOutage: (error) => error === OUTAGE,
    write: async (items) => {
      groups.push([...items]);
      await new Promise<void>((resolve) => waiting.push(resolve));
      if (isAway) throw OUTAGE;
      if (items.some((text) => text.includes('BAD'))) throw new Error('cannot be written');
      return items.map((text) => `${text} is written`);
    },
  });
  const goOn = async (): Promise<void> => {
    await settle();
    while (waiting.length > 0) {
      waiting.shift()!();
      await settle();
    }
  };
  const add = (text: string, owner = 'o', signal = NEVER): Promise<string> =>
    commits.add([owner], text, signal).catch((error: unknown) => (error as Error).message);
  /** Has a group be written that what comes next waits for. */
  const occupy = async (): Promise<void> => {
    void add('1');
    await settle();
    groups.length = 0;
  };
  return { groups, waiting, add, occupy, goOn, goAway: () => (isAway = true) };
}

describe('GroupCommit', () => {
  it('writes what comes meanwhile together with what comes next', async () => {
    const { groups, add, goOn } = store();
    const first = add('a');
    await settle();
    const others = ['b', 'c'].map((text) => add(text));
    await goOn();
    expect(await Promise.all([first, ...others])).toEqual(['A is written', 'B is written', 'C is written']);
    expect(groups).toEqual([['A'], ['B', 'C']]);
  });

  it('writes at once what comes alone, and so many groups at once', async () => {
    const { groups, add, goOn } = store(limitTo(2));
    const answers: Promise<string>[] = [];
    for (const text of ['a', 'b', 'c']) {
      answers.push(add(text));
      await settle();
    }
    expect(groups).toEqual([['A'], ['B']]);
    await goOn();
    expect(await Promise.all(answers)).toHaveLength(3);
    const last = add('d');
    await goOn();
    expect(await last).toBe('D is written');
  });

  it('closes a group when it is heavy enough, by what items come to when they are ready', async () => {
    const { groups, add, occupy, goOn } = store(limitTo(1), 4);
    await occupy();
    const answers = Promise.all(['aaa', 'bb', 'cccccccc', 'd'].map((text) => add(text)));
    await goOn();
    await answers;
    expect(groups).toEqual([['AAA', 'BB'], ['CCCCCCCC'], ['D']]);
  });

  it('makes no item ready that its group has no room for', async () => {
    const prepared: string[] = [];
    const writing: (() => void)[] = [];
    const commits = new GroupCommit<string, string, void>({
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

  it('writes what can be read though what cannot be keeps coming', async () => {
    const { groups, add, goOn } = store();
    let isOver = false;
    const flood = Array.from({ length: 3 }, async () => {
      while (!isOver) await add('refused', 'flooding');
    });
    const answer = add('good');
    await settle();
    expect(groups).toEqual([['GOOD']]);
    isOver = true;
    await goOn();
    await Promise.all([answer, ...flood]);
  });

  it('lets others have their turns between two items that are made ready', async () => {
    const seen: number[] = [];
    let turns = 0;
    const count = (): void => {
      turns++;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const commits = new GroupCommit<string, string, string>({
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

  it('has organizations take turns', async () => {
    const { groups, add, occupy, goOn } = store(limitTo(1), 2);
    await occupy();
    const answers = Promise.all([...['a1', 'a2', 'a3'].map((text) => add(text, 'a')), add('b1', 'b')]);
    await goOn();
    await answers;
    expect(groups).toEqual([['A1'], ['B1'], ['A2'], ['A3']]);
  });

  it('answers an item that cannot be made ready at once, and writes the others', async () => {
    const { groups, add, occupy, goOn } = store();
    await occupy();
    const answers = Promise.all(['refused', 'b'].map((text) => add(text)));
    await goOn();
    expect(await answers).toEqual(['refused cannot be read', 'B is written']);
    expect(groups).toEqual([['B']]);
  });

  it('writes halves where a group cannot be written, so that one item sinks no other', async () => {
    const { groups, add, occupy, goOn } = store();
    await occupy();
    const answers = Promise.all(['a', 'b', 'bad', 'd', 'e'].map((text) => add(text)));
    await goOn();
    expect(await answers).toEqual([
      'A is written',
      'B is written',
      'cannot be written',
      'D is written',
      'E is written',
    ]);
    expect(groups).toEqual([['A', 'B', 'BAD', 'D', 'E'], ['A', 'B', 'BAD'], ['A', 'B'], ['BAD'], ['D', 'E']]);
  });

  it('leaves out of the halves what nobody waits for any more', async () => {
    const { groups, waiting, add, occupy, goOn } = store();
    await occupy();
    const gone = new AbortController();
    const answers = Promise.all([add('a'), add('b', 'o', gone.signal), add('bad')]);
    waiting.shift()!();
    await settle();
    gone.abort(new Error('gone'));
    await goOn();
    expect(await answers).toEqual(['A is written', 'gone', 'cannot be written']);
    expect(groups).toEqual([['A', 'B', 'BAD'], ['A'], ['BAD']]);
  });

  it('tells all of a group where the store is away, and does not try fewer of them', async () => {
    const { groups, add, occupy, goOn, goAway } = store();
    await occupy();
    goAway();
    const answers = Promise.all(['a', 'b'].map((text) => add(text)));
    await goOn();
    expect(await answers).toEqual(Array(2).fill('the store is away'));
    expect(groups).toEqual([['A', 'B']]);
  });

  it('does not write what nobody waits for any more, unless it has begun', async () => {
    const { groups, add, goOn } = store();
    const gone = new AbortController();
    const begun = add('begun', 'o', gone.signal);
    await settle();
    const answers = Promise.all([begun, add('waits', 'o', gone.signal), add('stays')]);
    gone.abort(new Error('gone'));
    await goOn();
    expect(await answers).toEqual(['BEGUN is written', 'gone', 'STAYS is written']);
    expect(groups).toEqual([['BEGUN'], ['STAYS']]);
    expect(() => add('late', 'o', gone.signal)).toThrow('gone');
  });

  it('shares a limit with others, and writes together all items that came while it waited', async () => {
    const limiter = limitTo(1);
    const [one, other] = [store(limiter), store(limiter)];
    const first = one.add('1');
    await settle();
    const answers = Promise.all([first, other.add('a'), other.add('b'), one.add('2')]);
    await settle();
    expect([one.groups, other.groups]).toEqual([[['1']], []]);
    await one.goOn();
    expect(other.groups).toEqual([['A', 'B']]);
    await other.goOn();
    await one.goOn();
    expect(await answers).toHaveLength(4);
    expect(one.groups).toEqual([['1'], ['2']]);
  });
});
