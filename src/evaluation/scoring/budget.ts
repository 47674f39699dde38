/** The error of a target that was not scored because of it. */
export const BUDGET_SPENT = 'What the run may cost (max_cost_usd) was spent before this was scored.';

/** What scoring may cost, and has cost so far, in US dollars. */
export class Budget {
  private isRefused = false;

  /**
   * @param maxUsd null for no bound.
   * @param costUsd what was spent before.
   */
  constructor(
    private readonly maxUsd: number | null,
    private costUsd = 0,
  ) {}

  /** All of it is spent, and something was not done because of that. */
  get isFelt(): boolean {
    return this.isRefused;
  }

  spend(costUsd: number): void {
    this.costUsd += costUsd;
  }

  /** Whether something more may be begun. Who asks and may not leaves it. */
  mayGoOn(): boolean {
    if (this.maxUsd === null || this.costUsd < this.maxUsd) return true;
    this.isRefused = true;
    return false;
  }
}
