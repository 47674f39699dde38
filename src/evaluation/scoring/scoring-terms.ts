import type { Budget } from './budget';
import type { ScoredItem } from './scored-item';

/** How one target is to be scored. */
export interface ScoringTerms {
  /** Aborted when the score is not wanted any more. */
  signal: AbortSignal;
  /** Waits for something without taking up a slot of the worker; see `Slot.lend`. */
  idle: <Result>(signal: AbortSignal, waiting: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;
  /** Of judges. `read`: what was answered before is not asked again. `write`: it is, and kept. `none`: neither. */
  cache: 'read' | 'write' | 'none';
  /** What it costs is charged to it, and nothing is asked any more once it is spent. */
  budget: Budget;
  /** Names the target of a run that it is for, so that what was paid for that before is not taken for another's. */
  askedFor?: string | undefined;
}

/**
 * Scores one target that is prepared. What the scorer fails at is the item's `error`. Throws the signal's reason when it
 * is aborted, and an Error where scoring is not possible at all at the moment.
 */
export type Scoring = (terms: ScoringTerms) => Promise<ScoredItem>;

/** Of a target that cannot be scored. */
export const failing =
  (error: string): Scoring =>
  () =>
    Promise.resolve({ error, elapsed_ms: 0 });
