import { jsonChanges } from './json-changes';

const changesOf = (before: unknown, after: unknown) =>
  jsonChanges(before, after).changes.map(({ op, pointer, before: from, after: to }) =>
    [op, pointer, from, to].filter((part) => part !== undefined).join(' '),
  );

describe('jsonChanges', () => {
  it.each([
    [{ a: 1, b: [{ c: null }] }, { b: [{ c: null }], a: 1 }, []],
    [{ a: 1 }, { a: '1' }, ['replace /a 1 "1"']],
    [{ a: null }, {}, ['remove /a null']],
    [{}, { a: null }, ['add /a null']],
    [{ a: {} }, { a: [] }, ['replace /a {} []']],
    [undefined, [1], ['add  [1]']],
    [{ '': { 'a/b': { '~': 1 } } }, { '': { 'a/b': { '~': 2 } } }, ['replace //a~1b/~0 1 2']],
    [JSON.parse('{"__proto__": 1}'), {}, ['remove /__proto__ 1']],
    [{}, JSON.parse('{"constructor": 1, "toString": 2}'), ['add /constructor 1', 'add /toString 2']],
  ])('lists the changes between %j and %j', (before, after, expected) => {
    expect(changesOf(before, after)).toEqual(expected);
  });

  it.each([
    [[1, 2, 3], [1, 9, 3], ['replace /1 2 9']],
    [['b', 'c'], ['a', 'b', 'c'], ['add /0 "a"']],
    [['a', 'b', 'c'], ['a', 'c'], ['remove /1 "b"']],
    [[], [1, 2], ['add /0 1', 'add /1 2']],
    [[1, 1], [1], ['remove /1 1']],
    [
      [{ a: 1 }, 2],
      [{ a: 2 }, 2, 3],
      ['replace /0/a 1 2', 'add /2 3'],
    ],
  ])('lists the changes between the lists %j and %j', (before, after, expected) => {
    expect(changesOf(before, after)).toEqual(expected);
  });

  it('lists at most 1,000 changes', () => {
    const list = (length: number) => Array.from({ length }, (_, i) => i);
    expect(jsonChanges([], list(1_000))).toMatchObject({ isTruncated: false });
    const { changes, isTruncated } = jsonChanges([], list(100_000));
    expect([changes.length, isTruncated]).toEqual([1_000, true]);
  });

  it('lists at most 1 MiB of values', () => {
    const { changes, isTruncated } = jsonChanges({ a: 1 }, { a: 2, b: 'x'.repeat(2 ** 20) });
    expect([changes.length, isTruncated]).toEqual([1, true]);
  });
});
