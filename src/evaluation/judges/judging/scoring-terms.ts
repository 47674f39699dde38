import type { Owner } from '#platform/concurrency';
import type { ScoredItem } from '../../scores';

/** The error of a target that was not scored because the budget was spent. */
export const BUDGET_SPENT = 'The budget of the run (max_cost_usd) was spent before this target was scored.';

/** The budget of a scoring run, in US dollars. */
export class Budget {
  private isRefused = false;

  /**
   * @param maxUsd null for no limit
   * @param costUsd cost so far
   */
  constructor(
    private readonly maxUsd: number | null,
    private costUsd = 0,
  ) {}

  /** Whether something was left undone because the budget was spent. */
  get isFelt(): boolean {
    return this.isRefused;
  }

  spend(costUsd: number): void {
    this.costUsd += costUsd;
  }

  /** Whether more may be started. A caller that gets false must leave its work undone. */
  mayGoOn(): boolean {
    if (this.maxUsd === null || this.costUsd < this.maxUsd) return true;
    this.isRefused = true;
    return false;
  }
}

/** The terms on which one target is scored. */
export interface ScoringTerms {
  /** Owners take turns at the threads that run code, and at a judge that limits its rate. */
  owner: Owner;
  /** Aborted when the score is no longer wanted. */
  signal: AbortSignal;
  /** Waits without holding a slot of the worker; see `Permit.lend`. */
  idle: <Result>(signal: AbortSignal, waiting: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;
  /** How a judge's answers are cached. `read`: reuses and stores them. `write`: asks again and stores. `none`: neither. */
  cache: 'read' | 'write' | 'none';
  /** Costs are charged to it. Once it is spent, no judge is asked. */
  budget: Budget;
  /** Names the run's target, so that an answer paid for by this target before is charged to it and not reported as free. */
  askedFor?: string | undefined;
}

/**
 * Scores one prepared target. A failure of the scorer is the item's `error`. Throws the signal's reason when it is
 * aborted, and an Error where nothing can be scored at present.
 */
export type Scoring = (terms: ScoringTerms) => Promise<ScoredItem>;

/** The scoring of a target that cannot be scored. */
export const failing =
  (error: string): Scoring =>
  () =>
    Promise.resolve({ error, elapsed_ms: 0 });
