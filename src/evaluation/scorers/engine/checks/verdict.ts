/**
 * The outcome of a check. `value` is what the check measured, if anything: a similarity, a number or a count. `grade` is its
 * contribution to `mean`, if not 1 or 0.
 */
export interface Verdict {
  passed: boolean;
  value?: unknown;
  grade?: number;
  /** Why the check failed. For a negated check, what it found. */
  reason: string;
}

/** A check lacks its data. The message says what is missing, and becomes the item's error. */
export class CannotCheck extends Error {
  override name = 'CannotCheck';
}
