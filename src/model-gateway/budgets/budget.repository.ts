import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { LoadingCache } from '#platform/concurrency';
import { Database, prepared, sql, type SqlExecutor, type Tx } from '#platform/db';

/** The budget of a workspace. */
export interface BudgetRow {
  workspace_id: string;
  /** Null if there is no budget. */
  monthly_budget_usd: number | null;
}

/** Reads and writes the budgets of workspaces. A workspace without a budget has no row. */
@Injectable()
export class BudgetRepository {
  private readonly amounts = new LoadingCache<number | null>();

  constructor(private readonly database: Database) {}

  /**
   * Returns the budget of a workspace for calls, without an access check, or null if it has none. It may be out of date for up to
   * 1 s. If it is cached, returns it synchronously, because the promise would cost more than the lookup.
   */
  amountOf(workspaceId: string): number | null | Promise<number | null> {
    const cached = this.amounts.getCached(workspaceId);
    if (cached !== undefined) return cached;
    return this.amounts.find(workspaceId, async () => {
      const statement = sql`SELECT monthly_budget_usd FROM model_budgets WHERE workspace_id = ${workspaceId}`;
      const [row] = await this.database.query<BudgetRow>(prepared('model-budget.find', statement));
      return row?.monthly_budget_usd ?? null;
    });
  }

  /** Removes the changed budget of a workspace from the cache of `amountOf`. */
  invalidate(workspaceId: string): void {
    this.amounts.invalidate(workspaceId);
  }

  /** Returns the budget of a workspace of the organization, or null for a workspace of another organization. */
  async find(
    scope: OrgScope,
    workspaceId: string,
    on: SqlExecutor = this.database,
  ): Promise<BudgetRow | null> {
    const [row] = await on.query<BudgetRow>(
      sql`SELECT w.workspace_id, b.monthly_budget_usd FROM workspaces w LEFT JOIN model_budgets b USING (workspace_id)
        WHERE w.workspace_id = ${workspaceId} AND w.org_id = ${scope.orgId}`,
    );
    return row ?? null;
  }

  /** Locks the budget of a workspace against other changes until the transaction ends. */
  async lock(tx: Tx, workspaceId: string): Promise<void> {
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`model budget ${workspaceId}`}, 0))`);
  }

  async put(tx: Tx, scope: OrgScope, workspaceId: string, amount: number): Promise<void> {
    await tx.query(
      sql`INSERT INTO model_budgets (workspace_id, org_id, monthly_budget_usd, updated_at, updated_by)
        VALUES (${workspaceId}, ${scope.orgId}, ${amount}, ${new Date()}, ${scope.principalId})
        ON CONFLICT (workspace_id) DO UPDATE SET monthly_budget_usd = excluded.monthly_budget_usd,
          updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
    );
  }

  async remove(tx: Tx, scope: OrgScope, workspaceId: string): Promise<void> {
    await tx.query(
      sql`DELETE FROM model_budgets WHERE workspace_id = ${workspaceId} AND org_id = ${scope.orgId}`,
    );
  }
}
