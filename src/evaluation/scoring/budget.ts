/** The error of a target that was not begun because of it. */
export const BUDGET_SPENT = 'What the run may cost (max_cost_usd) was spent before this was scored.';

/** What scoring may cost, and has cost so far, in US dollars. */
export class Budget {
  private readonly controller = new AbortController();
  /** Aborted when all of it is spent: nothing more is begun then. */
  readonly spent = this.controller.signal;

  /**
   * @param maxUsd null for no bound.
   * @param costUsd what was spent before.
   */
  constructor(
    private readonly maxUsd: number | null,
    private costUsd = 0,
  ) {
    this.spend(0);
  }

  spend(costUsd: number): void {
    this.costUsd += costUsd;
    if (this.maxUsd !== null && this.costUsd >= this.maxUsd)
      this.controller.abort(new Error('The budget is spent.'));
  }
}
