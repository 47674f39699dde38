import type { CalledTarget } from '../models/model-directory';
import { targetOrder } from './target-caller';

const target = (upstream_model: string, weight: number): CalledTarget =>
  ({ upstream_model, weight }) as CalledTarget;
const TARGETS = [target('a', 1), target('b', 2), target('c', 7)];
const names = (order: readonly CalledTarget[]): string => order.map((one) => one.upstream_model).join('');

describe('targetOrder', () => {
  it.each(['single', 'fallback'] as const)('keeps the order of the list for %s', (strategy) => {
    const order = targetOrder({ strategy, targets: TARGETS }, () => 0.99);
    expect(names(order)).toBe('abc');
  });

  it.each([
    [0, 'abc'],
    [0.1, 'bac'],
    [0.29, 'bca'],
    [0.3, 'cab'],
    [0.999, 'cba'],
    // a rounded sum of weights may leave the point beyond all targets
    [1, 'cba'],
  ])('draws targets by weight: at %d', (point, expected) => {
    expect(names(targetOrder({ strategy: 'weighted', targets: TARGETS }, () => point))).toBe(expected);
  });

  it('returns each target once, and puts each first as often as its weight says', () => {
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
