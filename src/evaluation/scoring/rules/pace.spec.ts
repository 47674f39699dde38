import { budgetOf, evenlySpread, isFarFrom, isSpent, type Pace } from './pace';

/** The last second of a day. A rule never sees more of it. */
const LAST_SECOND = 86_399 / 86_400;

describe('the budget of a day', () => {
  const at = (hour: number, spentUsd: number, meanUsd: number | null = 0.01) => ({
    spentUsd,
    meanUsd,
    dayShare: Math.min(hour / 24, LAST_SECOND),
  });
  const sent = (maxUsd: number, spending: ReturnType<typeof at>, pace: Pace = 'even') =>
    budgetOf(pace, maxUsd, spending).sendMax;

  /** Returns what a rule spends until each second of the day if a target arrives every minute. */
  const spendDay = (maxUsd: number, costUsd: number, guessUsd: number | null = costUsd) => {
    let [spentUsd, count, meanUsd] = [0, 0, guessUsd];
    const spentBy: number[] = [];
    for (let minute = 0; minute < 1_440; minute++) {
      const dayShare = Math.min((minute + 1) / 1_440, LAST_SECOND);
      const { sendMax } = budgetOf('even', maxUsd, { spentUsd, meanUsd, dayShare });
      if (sendMax > 0) {
        spentUsd += costUsd;
        count += 1;
        // like the mean of the latest runs, in which an old mean fades
        meanUsd = meanUsd === null ? costUsd : meanUsd + (costUsd - meanUsd) / 20;
      }
      spentBy.push(spentUsd);
    }
    return { count, spentUsd, spentBy };
  };

  it('buys as many targets as are affordable now, to within half a target', () => {
    expect(sent(0.24, at(6, 0))).toBe(6);
    expect(sent(0.24, at(6, 0.011))).toBe(5);
    expect(sent(0.24, at(6, 0.06))).toBe(0);
    expect(sent(0.24, at(6, 0.09))).toBe(0);
    expect(sent(0.25, at(6, 0))).toBe(6);
    expect(sent(0.27, at(6, 0))).toBe(7);
  });

  it.each([
    [0.3, 0.1, 3],
    [1, 0.1, 10],
    [0.5, 0.01, 50],
    // a target that costs as much as the budget, or more: one a day
    [0.06, 0.06, 1],
    [0.05, 0.06, 1],
    [0.05, 5, 1],
    // the third one would cost more than half beyond the budget
    [0.24, 0.1, 2],
  ])('a day with a budget of %d and targets of %d buys %d, not one fewer', (maxUsd, costUsd, count) => {
    const day = spendDay(maxUsd, costUsd);
    expect(day.count).toBe(count);
    for (const [minute, spentUsd] of day.spentBy.entries()) {
      const shareUsd = (maxUsd * (minute + 1)) / 1_440;
      // A target that costs more than the budget is due at noon, and spends all of it.
      const most = costUsd > maxUsd ? (minute < 719 ? 0 : costUsd) : shareUsd + costUsd / 2;
      expect(spentUsd).toBeLessThanOrEqual(most + 1e-9);
    }
  });

  it('is not stuck on a mean of targets that cost far more than those of today', () => {
    const { count, spentUsd } = spendDay(1, 0.01, 5);
    expect(count).toBeGreaterThan(50);
    expect(spentUsd).toBeLessThanOrEqual(1.005);
  });

  it('buys one target while its cost is unknown, and lets the others wait', () => {
    expect(budgetOf('even', 1, at(1, 0, null))).toEqual({ maxUsd: 1, takeMax: 1, sendMax: 1 });
    expect(budgetOf('even', 1, at(0, 0, null))).toMatchObject({ takeMax: Infinity, sendMax: 0 });
  });

  it('fills runs with targets that cost nothing, or little', () => {
    expect(budgetOf('even', 1, at(1, 0, 0))).toEqual({ maxUsd: 1, takeMax: 100, sendMax: 100 });
    expect(budgetOf('even', 1, at(12, 0, 1e-5))).toMatchObject({ takeMax: 100, sendMax: 100 });
  });

  it('limits a run to what its targets should cost, and to the rest of the day', () => {
    expect(budgetOf('even', 1, at(6, 0.2)).maxUsd).toBeCloseTo(0.055, 12);
    expect(budgetOf('even', 0.05, at(13, 0, 0.06)).maxUsd).toBe(0.05);
    expect(budgetOf('greedy', 1, at(6, 0.3))).toEqual({ maxUsd: 0.7, takeMax: 100, sendMax: 100 });
  });

  it('is spent by targets whose costs add up to it, whatever the rounding', () => {
    const tenth = Array.from({ length: 10 }, () => 0.1).reduce((a, b) => a + b, 0);
    expect(tenth).toBeLessThan(1);
    expect(isSpent(1, tenth)).toBe(true);
    expect(isSpent(1, 0.999)).toBe(false);
    for (const pace of ['even', 'greedy'] as const) expect(sent(1, at(24, tenth), pace)).toBe(0);
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

describe('a run with a cost limit', () => {
  it.each<[number, number | null, number, boolean]>([
    [1, 0.005, 100, true],
    [1, 0.006, 100, false],
    [1, 0.3, 1, true],
    [1, 0, 100, true],
    [1, null, 1, false],
  ])(
    'of %p US dollars, with targets of %p, is far from it with %p targets: %p',
    (max, mean, count, isFar) => {
      expect(isFarFrom(max, mean, count)).toBe(isFar);
    },
  );
});
