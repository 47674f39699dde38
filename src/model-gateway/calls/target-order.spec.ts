import type { CalledTarget } from '../models/model-directory';
import { targetOrder } from './target-order';

const target = (upstream_model: string, weight: number): CalledTarget =>
  ({ upstream_model, weight }) as CalledTarget;
const TARGETS = [target('a', 1), target('b', 2), target('c', 7)];
const names = (order: readonly CalledTarget[]): string => order.map((one) => one.upstream_model).join('');

describe('the order of targets', () => {
  it.each(['single', 'fallback'] as const)('is that of the list for %s', (strategy) => {
    const order = targetOrder({ strategy, targets: TARGETS }, () => 0.99);
    expect(names(order)).toBe('abc');
    expect(order).not.toBe(TARGETS);
  });

  it.each([
    [0, 'abc'],
    [0.1, 'bac'],
    [0.29, 'bca'],
    [0.3, 'cab'],
    [0.999, 'cba'],
    // a sum of weights may be rounded, so that no target has the point
    [1, 'cba'],
  ])('is drawn by weight: at %d', (point, expected) => {
    expect(names(targetOrder({ strategy: 'weighted', targets: TARGETS }, () => point))).toBe(expected);
  });

  it('has each target once, and the first as often as its weight says', () => {
    const counts: Record<string, number> = {};
    for (let one = 0; one < 1_000; one++) {
      const order = targetOrder({ strategy: 'weighted', targets: TARGETS }, () => one / 1_000);
      expect([...names(order)].sort().join('')).toBe('abc');
      const first = order[0]!.upstream_model;
      counts[first] = (counts[first] ?? 0) + 1;
    }
    expect(counts).toEqual({ a: 100, b: 200, c: 700 });
    expect(targetOrder({ strategy: 'weighted', targets: [] })).toEqual([]);
  });
});
