/**
 * What a check found. `value` is the finding itself where there is one beyond passed or failed (a similarity, a number,
 * a count), `grade` what it counts with in `mean` where that is not 1 or 0.
 */
export interface Verdict {
  passed: boolean;
  value?: unknown;
  grade?: number;
  /** Why it failed; for a negated check, what it found. */
  reason: string;
}

/** A check that has nothing to look at; the message says what is missing. The item becomes an error. */
export class CannotCheck extends Error {
  override name = 'CannotCheck';
}
