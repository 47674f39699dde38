import { type RunSlot, RunSlots } from './run-slots';

const take = (slots: RunSlots, orgs: string): RunSlot[] => [...orgs].map((org) => slots.take(org));
const yielded = (taken: readonly RunSlot[]): string =>
  taken.map(({ yielding }) => (yielding.signal.aborted ? 'y' : '-')).join('');

describe('RunSlots', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it.each([
    // share, slots taken, organizations that cannot take the next one
    [8, '', ''],
    [8, 'aaaaaaa', ''],
    [8, 'aaaaaaaa', 'a'],
    [8, 'aaaabbbb', 'ab'],
    [8, 'aaaabbbc', 'a'],
    [2, 'aa', 'a'],
    [1, '', ''],
    [1, 'a', 'a'],
  ])('with a share of %i and the slots of %j, has no slot for %j', (share, orgs, full) => {
    const slots = new RunSlots(share);
    take(slots, orgs);
    expect(slots.fullOrgs().join('')).toBe(full);
  });

  it.each([
    // share, slots taken, waiting organizations without a run, slots that are given back
    [8, 'aaaaaaaa', 3, '--------'],
    [8, 'aaaaaaaab', 0, '-------y-'],
    [8, 'aaaaabbbb', 0, '----y----'],
    [8, 'aaaabbbbc', 0, '---------'],
    [8, 'aaaabbbbc', 1, '---y-----'],
    [8, 'aaaabbbbc', 2, '---y---y-'],
    [8, 'abcdefghi', 1, '---------'],
    [1, 'ab', 1, '--'],
  ])('with a share of %i, the slots of %j and %i waiting organizations, takes back %j', (share, orgs, waiting, expected) => {
    const slots = new RunSlots(share);
    const taken = take(slots, orgs);
    slots.yieldTo(waiting);
    expect(yielded(taken)).toBe(expected);
  }); // oxfmt-ignore

  it('yields one slot at a time', () => {
    const slots = new RunSlots(4);
    const taken = take(slots, 'aaaab');
    for (let n = 0; n < 3; n++) slots.yieldTo(1);
    expect(yielded(taken)).toBe('---y-');
    slots.take('c');
    slots.release(taken[3]!);
    expect(slots.freeCount).toBe(0);
    slots.yieldTo(1);
    expect(yielded(taken)).toBe('--yy-');
  });

  it('yields the slot that was held longest if each organization has one', () => {
    const slots = new RunSlots(1);
    const taken = take(slots, 'ab');
    jest.advanceTimersByTime(11_000);
    slots.yieldTo(0);
    expect(yielded(taken)).toBe('--');
    slots.yieldTo(1);
    expect(yielded(taken)).toBe('y-');
  });

  it('wakes waiters when a slot is released', async () => {
    const slots = new RunSlots(1);
    const [slot] = take(slots, 'ab');
    const { signal } = new AbortController();
    const change = slots.change(60_000, signal);
    slots.release(slot!);
    await change;
    await slots.change(60_000, AbortSignal.abort());
    expect(slots.freeCount).toBe(1);
  });
});
