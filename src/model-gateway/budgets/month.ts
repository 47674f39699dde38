/** Returns the month of a time in UTC, such as `2026-11`. */
export const monthOf = (time: Date): string => time.toISOString().slice(0, 7);

/** Returns what remains of a budget: null without one, and 0 for one that is spent. */
export const remainingOf = (budget: number | null, spent: number): number | null =>
  budget === null ? null : roundedUsd(Math.max(0, budget - spent));

/** Rounds US dollars to a millionth of a millionth, because sums of floating-point numbers end in noise. */
export const roundedUsd = (usd: number): number => Math.round(usd * 1e12) / 1e12;
