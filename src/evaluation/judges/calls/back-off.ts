/** The longest wait before the n-th further attempt, in ms: it doubles, up to half a minute. */
const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** Waits that a judge asks for are made longer by up to this share, so that not all come back at once. */
const JITTER = 0.25;

/**
 * How long to wait before a further attempt, in ms: between nothing and a bound that doubles ("full jitter"), and never
 * less than the judge itself asks for.
 *
 * @param attempt those made so far, from 1.
 */
export function backOffMs(attempt: number, askedMs = 0, random: () => number = Math.random): number {
  const bound = Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempt - 1));
  return askedMs > 0 ? askedMs + random() * Math.min(bound, askedMs * JITTER + FIRST_MS) : random() * bound;
}
