/**
 * How a rule spends the budget of a day (UTC). `even`: by any time, at most the share of the budget that equals the share of the
 * day that has passed. `greedy`: as traces arrive, until the budget is spent.
 */
export const PACES = ['even', 'greedy'] as const;
export type Pace = (typeof PACES)[number];

/** What a rule has spent today, in US dollars. */
export interface Spending {
  /** Cost of today's runs. */
  spentUsd: number;
  /** Mean cost of a target in the latest runs. Null if it is not known yet. */
  meanUsd: number | null;
  /** The share of the day (UTC) that has passed, from 0 to 1. */
  dayShare: number;
}

/** Returns the part of the day's budget that a rule may spend now, in US dollars. Negative if it has spent more. */
export const availableUsd = (pace: Pace, maxUsd: number, { spentUsd, dayShare }: Spending): number =>
  (pace === 'even' ? maxUsd * dayShare : maxUsd) - spentUsd;

/** Relative error of sums of costs, so that a budget of 0.3 buys three targets of 0.1. */
const ROUNDING = 1e-9;

/**
 * Returns the number of targets that a rule with the pace `even` may score now. One if the cost of a target is not known yet. A
 * target that costs more than the budget of a day counts as that budget, so that the rule scores one at the end of the day.
 */
export function affordableCount(maxUsd: number, spending: Spending): number {
  const available = availableUsd('even', maxUsd, spending);
  const { meanUsd } = spending;
  if (meanUsd === 0) return Infinity;
  if (meanUsd === null) return available > 0 ? 1 : 0;
  return Math.max(0, Math.floor((available / Math.min(meanUsd, maxUsd)) * (1 + ROUNDING)));
}

/** Returns `count` items, spread evenly over the list, or all items if there are no more. */
export function evenlySpread<Item>(items: readonly Item[], count: number): Item[] {
  if (count >= items.length) return [...items];
  return Array.from(
    { length: count },
    (_, index) => items[Math.floor(((index + 0.5) * items.length) / count)]!,
  );
}
