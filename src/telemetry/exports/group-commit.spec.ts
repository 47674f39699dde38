import { setImmediate as settle } from 'node:timers/promises';
import { readEnvironment } from '#platform/config';
import { GroupCommit } from './group-commit';
import { GroupSlots } from './group-slots';

const NEVER = new AbortController().signal;
const OUTAGE = new Error('the store is away');

/** So many of them: one for each four connections. */
const slotsOf = (count: number): GroupSlots =>
  new GroupSlots(readEnvironment({ DATABASE_POOL_SIZE: String(4 * count) }));

/** Writes texts when it is told to. A text with `bad` in it cannot be written, and one with `refused` is at fault itself. */
function store(slots = slotsOf(1), maxWeight = 100) {
  const groups: string[][] = [];
  const waiting: (() => void)[] = [];
  let isAway = false;
  const commits = new GroupCommit<string, string>({
    slots,
    maxWeight,
    weightOf: (text) => text.length,
    isOutage: (error) => error === OUTAGE,
    write: async (items) => {
      groups.push([...items]);
      await new Promise<void>((resolve) => waiting.push(resolve));
      if (isAway) throw OUTAGE;
      if (items.some((text) => text.includes('bad'))) throw new Error('cannot be written');
      return items.map((text) =>
        text.includes('refused')
          ? { status: 'rejected', reason: new Error(`${text} is refused`) }
          : { status: 'fulfilled', value: `${text} is written` },
      );
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
  return { groups, add, goOn, goAway: () => (isAway = true) };
}

describe('GroupCommit', () => {
  it('writes what comes meanwhile together with what comes next', async () => {
    const { groups, add, goOn } = store();
    const answers = Promise.all(['a', 'b', 'c'].map((text) => add(text)));
    await goOn();
    expect(await answers).toEqual(['a is written', 'b is written', 'c is written']);
    expect(groups).toEqual([['a'], ['b', 'c']]);
  });

  it('writes at once what comes alone, and so many groups at once', async () => {
    const { groups, add, goOn } = store(slotsOf(2));
    const answers = Promise.all(['a', 'b', 'c'].map((text) => add(text)));
    await settle();
    expect(groups).toEqual([['a'], ['b']]);
    await goOn();
    expect(await answers).toHaveLength(3);
    const last = add('d');
    await goOn();
    expect(await last).toBe('d is written');
  });

  it('closes a group when it is heavy enough', async () => {
    const { groups, add, goOn } = store(slotsOf(1), 4);
    const answers = Promise.all(['1', 'aaa', 'bb', 'cccccccc', 'd'].map((text) => add(text)));
    await goOn();
    await answers;
    expect(groups).toEqual([['1'], ['aaa', 'bb'], ['cccccccc'], ['d']]);
  });

  it('has organizations take turns', async () => {
    const { groups, add, goOn } = store(slotsOf(1), 2);
    const answers = Promise.all([
      add('1'),
      ...['a1', 'a2', 'a3'].map((text) => add(text, 'a')),
      add('b1', 'b'),
    ]);
    await goOn();
    await answers;
    expect(groups).toEqual([['1'], ['a1'], ['b1'], ['a2'], ['a3']]);
  });

  it('answers an item that is itself at fault, and writes the others with it', async () => {
    const { groups, add, goOn } = store();
    const answers = Promise.all(['1', 'refused', 'b'].map((text) => add(text)));
    await goOn();
    expect(await answers).toEqual(['1 is written', 'refused is refused', 'b is written']);
    expect(groups).toEqual([['1'], ['refused', 'b']]);
  });

  it('writes each alone where one cannot be written, so that it sinks no other', async () => {
    const { groups, add, goOn } = store();
    const answers = Promise.all(['1', 'a', 'bad', 'c'].map((text) => add(text)));
    await goOn();
    expect(await answers).toEqual(['1 is written', 'a is written', 'cannot be written', 'c is written']);
    expect(groups).toEqual([['1'], ['a', 'bad', 'c'], ['a'], ['bad'], ['c']]);
  });

  it('tells all of a group where the store is away, and does not try them one by one', async () => {
    const { groups, add, goOn, goAway } = store();
    goAway();
    const answers = Promise.all(['1', 'a', 'b'].map((text) => add(text)));
    await goOn();
    expect(await answers).toEqual(Array(3).fill('the store is away'));
    expect(groups).toEqual([['1'], ['a', 'b']]);
  });

  it('does not write what nobody waits for any more, unless it has begun', async () => {
    const { groups, add, goOn } = store();
    const gone = new AbortController();
    const answers = Promise.all([
      add('begun', 'o', gone.signal),
      add('waits', 'o', gone.signal),
      add('stays'),
    ]);
    gone.abort(new Error('gone'));
    await goOn();
    expect(await answers).toEqual(['begun is written', 'gone', 'stays is written']);
    expect(groups).toEqual([['begun'], ['stays']]);
    expect(() => add('late', 'o', gone.signal)).toThrow('gone');
  });

  it('shares its slots with others, and writes what came while it waited for one together', async () => {
    const slots = slotsOf(1);
    const [one, other] = [store(slots), store(slots)];
    const answers = Promise.all([one.add('1'), other.add('a'), other.add('b'), one.add('2')]);
    await settle();
    expect([one.groups, other.groups]).toEqual([[['1']], []]);
    await one.goOn();
    expect(other.groups).toEqual([['a', 'b']]);
    await other.goOn();
    await one.goOn();
    expect(await answers).toHaveLength(4);
    expect(one.groups).toEqual([['1'], ['2']]);
  });

  it('has a slot at least', () => {
    expect(new GroupSlots(readEnvironment({ DATABASE_POOL_SIZE: '2' })).count).toBe(1);
  });
});
