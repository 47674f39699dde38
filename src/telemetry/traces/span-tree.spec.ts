import { sortInTreeOrder } from './span-tree';

const span = (span_id: string, parent_span_id: string | null = null) => ({ span_id, parent_span_id });
const drawn = (...spans: ReturnType<typeof span>[]): string[] =>
  sortInTreeOrder(spans).map(({ span_id, depth }) => `${' '.repeat(depth)}${span_id}`);

describe('sortInTreeOrder', () => {
  it('places each span before its children, and keeps the order of siblings', () => {
    const spans = [span('root'), span('b', 'root'), span('c', 'root'), span('b1', 'b'), span('c1', 'c')];
    expect(drawn(...spans)).toEqual(['root', ' b', '  b1', ' c', '  c1']);
  });

  it('places a span with a missing parent at the top, with its children below', () => {
    expect(drawn(span('late', 'lost'), span('root'), span('below', 'late'))).toEqual([
      'late',
      ' below',
      'root',
    ]);
  });

  it('accepts a child before its parent', () => {
    expect(drawn(span('child', 'root'), span('root'))).toEqual(['root', ' child']);
  });

  it('terminates and loses no span if parents form a cycle', () => {
    expect(drawn(span('a', 'b'), span('b', 'a'), span('own', 'own'), span('x', 'b'), span('root'))).toEqual([
      'root',
      'a',
      ' b',
      '  x',
      'own',
    ]);
  });

  it('accepts a chain of any length', () => {
    const chain = Array.from({ length: 100_000 }, (_, n) => span(`${n}`, n === 0 ? null : `${n - 1}`));
    const tree = sortInTreeOrder(chain);
    expect(tree.map(({ depth }) => depth)).toEqual(chain.map((_, n) => n));
  });
});
