import { Injectable } from '@nestjs/common';
import { LoadingCache } from '#platform/concurrency';
import { BudgetRepository } from './budget.repository';

/** Looks up the monthly budgets of workspaces. Caches each budget, or its absence, for at most 1 s. */
@Injectable()
export class BudgetDirectory {
  private readonly cache = new LoadingCache<number | null>();

  constructor(private readonly budgets: BudgetRepository) {}

  /** Returns the monthly budget of a workspace in US dollars, or null if it has none. */
  find(workspaceId: string): Promise<number | null> {
    return this.cache.find(workspaceId, () => this.budgets.findAmount(workspaceId));
  }

  /** Returns the same as `find` synchronously, or undefined if it is not cached. */
  getCached(workspaceId: string): number | null | undefined {
    return this.cache.getCached(workspaceId);
  }

  /** Removes the changed budget of a workspace from the cache. */
  invalidate(workspaceId: string): void {
    this.cache.invalidate(workspaceId);
  }
}
