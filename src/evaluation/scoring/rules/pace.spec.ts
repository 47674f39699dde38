import { affordableCount, availableUsd, evenlySpread } from './pace';

describe('the budget of a day', () => {
  const at = (hour: number, spentUsd: number, meanUsd: number | null = 0.01) => ({
    spentUsd,
    meanUsd,
    dayShare: hour / 24,
  });

  it('is spent in proportion to the day, or at once if it is greedy', () => {
    expect(availableUsd('even', 1, at(6, 0))).toBe(0.25);
    expect(availableUsd('even', 1, at(6, 0.2))).toBeCloseTo(0.05, 12);
    expect(availableUsd('even', 1, at(6, 0.3))).toBeLessThan(0);
    expect(availableUsd('greedy', 1, at(6, 0.3))).toBe(0.7);
  });

  it('buys as many targets as are affordable now', () => {
    expect(affordableCount(0.24, at(6, 0))).toBe(6);
    expect(affordableCount(0.24, at(6, 0.01))).toBe(5);
    expect(affordableCount(0.24, at(6, 0.06))).toBe(0);
    expect(affordableCount(0.24, at(6, 0.09))).toBe(0);
    expect(affordableCount(0.3, at(24, 0, 0.1))).toBe(3);
  });

  it('buys one target while its cost is unknown, and one at the end of the day that costs more than the budget', () => {
    expect(affordableCount(1, at(1, 0, null))).toBe(1);
    expect(affordableCount(1, at(0, 0, null))).toBe(0);
    expect(affordableCount(1, at(23, 0, 5))).toBe(0);
    expect(affordableCount(1, at(24, 0, 5))).toBe(1);
  });

  it('buys everything that costs nothing', () => {
    expect(affordableCount(1, at(0, 0, 0))).toBe(Infinity);
  });
});

describe('evenlySpread', () => {
  it('takes items from all parts of a list', () => {
    expect(evenlySpread([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 2)).toEqual([2, 7]);
    expect(evenlySpread([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 5)).toEqual([1, 3, 5, 7, 9]);
    expect(evenlySpread([0, 1, 2], 0)).toEqual([]);
    expect(evenlySpread([0, 1, 2], 9)).toEqual([0, 1, 2]);
  });
});
