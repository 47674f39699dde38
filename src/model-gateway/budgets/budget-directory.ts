import { Injectable } from '@nestjs/common';
import { BriefCache } from '#platform/concurrency';
import { BudgetRepository } from './budget.repository';

/** Finds the monthly budgets of workspaces. Caches each, or its absence, for at most 1 s. */
@Injectable()
export class BudgetDirectory {
  private readonly cache = new BriefCache<number | null>();

  constructor(private readonly budgets: BudgetRepository) {}

  /** Returns the monthly budget of a workspace in US dollars. Null without one. */
  find(workspaceId: string): Promise<number | null> {
    return this.cache.find(workspaceId, () => this.budgets.findAmount(workspaceId));
  }

  /** Returns the same as `find`, at once, if it is cached. Undefined if it is not. */
  cached(workspaceId: string): number | null | undefined {
    return this.cache.cached(workspaceId);
  }

  /** Drops the budget of a workspace, because it has changed. */
  invalidate(workspaceId: string): void {
    this.cache.invalidate(workspaceId);
  }
}
