/** Returns the month of a time in UTC, such as `2026-11`. */
export const monthOf = (time: Date): string => time.toISOString().slice(0, 7);

/** Returns the remaining budget: null if there is no budget, and 0 if it is exhausted. */
export const remainingOf = (budget: number | null, spent: number): number | null =>
  budget === null ? null : roundedUsd(Math.max(0, budget - spent));

/** Rounds US dollars to 12 decimal places, because sums of floating-point numbers have rounding noise. */
export const roundedUsd = (usd: number): number => Math.round(usd * 1e12) / 1e12;
