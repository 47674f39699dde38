import type { Owner } from '#platform/concurrency';
import type { ScoredItem } from '../../scores';

/** The error of a target that was not scored because the budget was spent. */
export const BUDGET_EXCEEDED =
  'The budget of the run (max_cost_usd) was spent before this target was scored.';

/** The budget of a scoring run, in US dollars. */
export class Budget {
  private hasRefused = false;

  /**
   * @param maxUsd null for no limit
   * @param costUsd cost so far
   */
  constructor(
    private readonly maxUsd: number | null,
    private costUsd = 0,
  ) {}

  /** Whether work was skipped because the budget was spent. */
  get hasStoppedWork(): boolean {
    return this.hasRefused;
  }

  spend(costUsd: number): void {
    this.costUsd += costUsd;
  }

  /** Tells whether more work may start. A caller that gets false must skip its work. */
  canContinue(): boolean {
    if (this.maxUsd === null || this.costUsd < this.maxUsd) return true;
    this.hasRefused = true;
    return false;
  }
}

/** How one target is scored. */
export interface ScoringContext {
  /** Owners take turns at the threads that run code, and at a judge with a rate limit. */
  owner: Owner;
  /** Aborted when the score is no longer wanted. */
  signal: AbortSignal;
  /** Lends the worker's slot to other targets during `waiting`; see `Permit.lend`. */
  lendSlot: <Result>(
    signal: AbortSignal,
    waiting: (signal: AbortSignal) => Promise<Result>,
  ) => Promise<Result>;
  /** How a judge's answers are cached. `read`: reuses and stores them. `write`: only stores them. `none`: neither. */
  cache: 'read' | 'write' | 'none';
  /** Costs are charged to it. Once it is spent, no request is sent to a judge. */
  budget: Budget;
  /**
   * Identifies the run's target. A cached answer that the same target paid for, in a worker that was lost before it stored
   * the result, is charged to the target and not reported as cached.
   */
  targetKey?: string | undefined;
}

/**
 * Scores one prepared target. A failure of the scorer is the item's `error`. Throws the signal's reason when it is
 * aborted, and an Error if nothing can be scored at present.
 */
export type Scoring = (context: ScoringContext) => Promise<ScoredItem>;

/** Returns the scoring of a target that cannot be scored. */
export const failedScoring =
  (error: string): Scoring =>
  () =>
    Promise.resolve({ error, elapsed_ms: 0 });
