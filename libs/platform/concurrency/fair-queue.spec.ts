import { FairQueue } from './fair-queue';

describe('FairQueue', () => {
  function drained(queue: FairQueue<string>): string[] {
    const items: string[] = [];
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) items.push(item);
    return items;
  }

  it('lets owners take turns, and keeps the order of the items of each owner', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3', 'a4']) queue.push(['a'], item);
    for (const item of ['b1', 'b2']) queue.push(['b'], item);
    queue.push(['c'], 'c1');
    expect(drained(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('forgets removed items', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2']) queue.push(['a'], item);
    queue.push(['b'], 'b1');
    queue.remove(['a'], 'a1');
    queue.remove(['b'], 'b1');
    queue.remove(['c'], 'c1');
    expect(drained(queue)).toEqual(['a2']);
  });

  it('sheds the newest item of the owner with the most, in favour of one with fewer', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3']) queue.push(['a'], item);
    queue.push(['b'], 'b1');
    expect(queue.shed(['a'])).toBeUndefined();
    expect(queue.shed(['b'])).toBe('a3');
    expect(queue.shed(['b'])).toBeUndefined();
    expect(queue.shed(['c'])).toBe('a2');
    expect(queue.shed(['c'])).toBeUndefined();
    expect(drained(queue)).toEqual(['a1', 'b1']);
  });

  it('lets the parts of an owner take turns too', () => {
    const queue = new FairQueue<string>();
    for (const item of ['ax1', 'ax2', 'ax3']) queue.push(['a', 'x'], item);
    for (const item of ['ay1', 'ay2']) queue.push(['a', 'y'], item);
    for (const item of ['bz1', 'bz2', 'bz3']) queue.push(['b', 'z'], item);
    queue.remove(['a', 'x'], 'ax2');
    queue.remove(['a', 'z'], 'ax3');
    expect(queue.size).toBe(7);
    expect(drained(queue)).toEqual(['ax1', 'bz1', 'ay1', 'bz2', 'ax3', 'bz3', 'ay2']);
    expect(queue.size).toBe(0);
  });

  it('counts all parts of an owner when it sheds an item', () => {
    const queue = new FairQueue<string>();
    for (const part of ['x', 'y', 'z']) queue.push(['a', part], `a${part}1`);
    queue.push(['a', 'y'], 'ay2');
    expect(queue.shed(['a', 'new'])).toBeUndefined();
    expect(queue.shed(['b', 'x'])).toBe('ay2');
    expect(queue.size).toBe(3);
    for (const left of [2, 1]) {
      expect(queue.shed(['b', 'x'])).toMatch(/^a[xyz]1$/);
      expect(queue.size).toBe(left);
    }
    expect(queue.shed(['b', 'x'])).toBeUndefined();
    expect(drained(queue)).toHaveLength(1);
  });
});
