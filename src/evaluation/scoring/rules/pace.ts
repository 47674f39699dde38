import { TARGETS_MAX } from '../targets/target.entity';

/**
 * How a rule spends the budget of a day (UTC). `even`: by any time, about the share of the budget that equals the share of the
 * day that has passed, to within half a target. `greedy`: as traces arrive, until the budget is spent.
 */
export const PACES = ['even', 'greedy'] as const;
export type Pace = (typeof PACES)[number];

/** What a rule has spent today, in US dollars. */
export interface Spending {
  /** Cost of today's runs. */
  spentUsd: number;
  /** Mean cost of a target. Null if it is not known yet. */
  meanUsd: number | null;
  /** The share of the day (UTC) that has passed, from 0 to 1. */
  dayShare: number;
}

/** What one step may spend. */
export interface StepBudget {
  /** Cost limit of the run, in US dollars. */
  maxUsd: number | null;
  /** Number of targets after which the other arrivals wait for the next step. */
  takeMax: number;
  /** Number of taken targets to score. The others are skipped. */
  sendMax: number;
}

export const NO_BUDGET: StepBudget = {
  maxUsd: null,
  takeMax: TARGETS_MAX.score,
  sendMax: TARGETS_MAX.score,
};
const SKIP_ALL: StepBudget = { maxUsd: null, takeMax: Infinity, sendMax: 0 };

/** Relative error of sums of costs: ten targets of 0.1 spend a budget of 1. */
const ROUNDING = 1e-9;

/** Tells whether the budget of a day is spent. */
export const isSpent = (maxUsdPerDay: number, spentUsd: number): boolean =>
  spentUsd >= maxUsdPerDay * (1 - ROUNDING);

/**
 * Returns what a step of a rule may spend. With the pace `even`, a step takes all arrivals and skips those that the budget does
 * not allow yet, so that arrivals do not wait until they are no longer typical of the day. While the cost of a target is unknown,
 * a step takes only one, so that the next step knows it.
 */
export function budgetOf(pace: Pace, maxUsdPerDay: number, spending: Spending): StepBudget {
  const { spentUsd, meanUsd, dayShare } = spending;
  const restUsd = maxUsdPerDay - spentUsd;
  if (isSpent(maxUsdPerDay, spentUsd)) return SKIP_ALL;
  if (pace === 'greedy') return { ...NO_BUDGET, maxUsd: restUsd };
  const availableUsd = maxUsdPerDay * dayShare - spentUsd;
  if (availableUsd <= 0) return SKIP_ALL;
  if (meanUsd === null) return { maxUsd: restUsd, takeMax: 1, sendMax: 1 };
  if (meanUsd === 0) return { ...NO_BUDGET, maxUsd: restUsd };
  // A target that costs more than the budget of a day counts as that budget, so that the rule scores one a day.
  const costUsd = Math.min(meanUsd, maxUsdPerDay);
  // Each target is due once half of it is affordable. Otherwise the last one would be due after the end of the day.
  const count = Math.floor(availableUsd / costUsd + 0.5);
  if (count === 0) return SKIP_ALL;
  const maxUsd = Math.min(availableUsd + costUsd / 2, restUsd);
  const isFull = count >= TARGETS_MAX.score;
  return isFull ? { ...NO_BUDGET, maxUsd } : { maxUsd, takeMax: Infinity, sendMax: count };
}

/**
 * Tells whether a run is far from its cost limit: its targets cost at most half of it, at the mean cost. Such a run may score
 * more targets at a time, because the requests in flight are not expected to exceed the limit.
 *
 * @param meanUsd mean cost of a target; null if it is not known yet
 * @param count number of targets of the run
 */
export const isFarFrom = (maxUsd: number, meanUsd: number | null, count: number): boolean =>
  meanUsd !== null && meanUsd * count <= maxUsd / 2;

/** Returns `count` items, spread evenly over the list, or all items if there are no more. */
export function evenlySpread<Item>(items: readonly Item[], count: number): Item[] {
  if (count >= items.length) return [...items];
  return Array.from(
    { length: count },
    (_, index) => items[Math.floor(((index + 0.5) * items.length) / count)]!,
  );
}
