import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { readable, ResourceKit } from '../../resources';
import type { ModelBudgetDto } from './budget.dto';
import { BudgetRepository, type BudgetRow } from './budget.repository';
import { SpendRepository } from './spend.repository';

/** Manages the monthly budgets of workspaces for model calls. */
@Injectable()
export class BudgetService {
  constructor(
    private readonly kit: ResourceKit,
    private readonly budgets: BudgetRepository,
    private readonly spend: SpendRepository,
  ) {}

  /** Returns the budget of a workspace. Errors: 404. */
  async get(scope: OrgScope, workspaceId: string): Promise<ModelBudgetDto> {
    return this.viewOf(
      readable(scope, await this.budgets.find(scope, workspaceId), 'workspace', workspaceId),
    );
  }

  /** Sets a budget, or removes it if the amount is null. Setting the same budget again changes nothing. Errors: 404, 403, 409. */
  async put(scope: OrgScope, workspaceId: string, amount: number | null): Promise<ModelBudgetDto> {
    const row = await this.kit.database.transaction(async (tx) => {
      await this.budgets.lock(tx, workspaceId);
      const row = await this.budgets.find(scope, workspaceId, tx);
      const before = this.kit.access.admit(scope, row, 'workspace', workspaceId, ['admin']);
      await this.kit.access.holdOpen(tx, scope, workspaceId);
      if (before.monthly_budget_usd === amount) return before;
      if (amount === null) await this.budgets.remove(tx, scope, workspaceId);
      else await this.budgets.put(tx, scope, workspaceId, amount);
      tx.afterCommit(() => this.budgets.invalidate(workspaceId));
      await this.kit.audit.record(tx, scope, {
        action: 'update',
        type: 'model_budget',
        id: workspaceId,
        workspaceId,
        changes: [{ member: 'monthly_budget_usd', before: before.monthly_budget_usd, after: amount }],
      });
      return { ...before, monthly_budget_usd: amount };
    });
    return this.viewOf(row);
  }

  private async viewOf({ workspace_id, monthly_budget_usd }: BudgetRow): Promise<ModelBudgetDto> {
    return {
      workspace_id,
      monthly_budget_usd,
      ...(await this.spend.currentMonth(workspace_id, monthly_budget_usd)),
    };
  }
}
