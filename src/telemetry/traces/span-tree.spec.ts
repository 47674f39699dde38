import { inTreeOrder } from './span-tree';

const span = (span_id: string, parent_span_id: string | null = null) => ({ span_id, parent_span_id });
const drawn = (...spans: ReturnType<typeof span>[]): string[] =>
  inTreeOrder(spans).map(({ span_id, depth }) => `${' '.repeat(depth)}${span_id}`);

describe('the tree of a trace', () => {
  it('has each span before what is below it, and those below one span in their order', () => {
    const spans = [span('root'), span('b', 'root'), span('c', 'root'), span('b1', 'b'), span('c1', 'c')];
    expect(drawn(...spans)).toEqual(['root', ' b', '  b1', ' c', '  c1']);
  });

  it('has a span at the top whose parent is not there, with what is below it', () => {
    expect(drawn(span('late', 'lost'), span('root'), span('below', 'late'))).toEqual([
      'late',
      ' below',
      'root',
    ]);
  });

  it('has a span below one that comes after it', () => {
    expect(drawn(span('child', 'root'), span('root'))).toEqual(['root', ' child']);
  });

  it('loses none of those whose parents form a circle, and ends', () => {
    expect(drawn(span('a', 'b'), span('b', 'a'), span('own', 'own'), span('x', 'b'), span('root'))).toEqual([
      'root',
      'a',
      ' b',
      '  x',
      'own',
    ]);
  });

  it('takes a chain of any length', () => {
    const chain = Array.from({ length: 100_000 }, (_, n) => span(`${n}`, n === 0 ? null : `${n - 1}`));
    const tree = inTreeOrder(chain);
    expect(tree.map(({ depth }) => depth)).toEqual(chain.map((_, n) => n));
  });
});
