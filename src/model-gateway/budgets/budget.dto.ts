import { ApiProperty } from '@nestjs/swagger';
import { ValidateIf } from 'class-validator';
import { ReadOnlyMembersOf } from '#platform/http';
import { IsBudget, UsdProperty } from './is-budget';

@ReadOnlyMembersOf(() => ModelBudgetDto)
export class PutModelBudgetDto {
  /** Maximum cost of all model calls in the workspace per month (UTC), in US dollars. Null removes the budget. */
  @ValidateIf((_, value) => value !== null)
  @IsBudget({ required: true })
  monthly_budget_usd!: number | null;
}

/** The model budget of a workspace, and the amount spent in the current month. */
export class ModelBudgetDto {
  workspace_id!: string;
  /** Null if there is no budget. */
  @UsdProperty({ nullable: true })
  monthly_budget_usd!: number | null;
  /** The month of the amounts, in UTC. */
  @ApiProperty({ pattern: '^\\d{4}-\\d{2}$', example: '2026-11' })
  month!: string;
  @UsdProperty()
  spent_usd!: number;
  /** The remaining budget. Null if there is no budget. */
  @UsdProperty({ nullable: true })
  remaining_usd!: number | null;
}
