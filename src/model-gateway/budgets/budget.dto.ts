import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsNumber, IsPositive, Max, ValidateIf } from 'class-validator';
import { ReadOnlyMembersOf } from '#platform/http';

const BUDGET_MAX_USD = 1_000_000_000;

/** Declares a monthly budget in US dollars. Null removes it. Combine it with `@IsOptional()` if it may be absent. */
export const IsBudget = ({ required = false } = {}) =>
  applyDecorators(
    IsNumber({ allowNaN: false, allowInfinity: false }),
    IsPositive(),
    Max(BUDGET_MAX_USD),
    ApiProperty({
      type: 'number',
      format: 'double',
      exclusiveMinimum: 0,
      maximum: BUDGET_MAX_USD,
      nullable: true,
      required,
    } as object),
  );

/** Declares an amount in US dollars in a response. */
export const UsdProperty = ({ nullable = false } = {}) =>
  ApiProperty({ type: 'number', format: 'double', minimum: 0, ...(nullable && { nullable }) });

@ReadOnlyMembersOf(() => ModelBudgetDto)
export class PutModelBudgetDto {
  /** Maximum cost of all model calls in the workspace per month (UTC), in US dollars. Null removes the budget. */
  @ValidateIf((_, value) => value !== null)
  @IsBudget({ required: true })
  monthly_budget_usd!: number | null;
}

/** The amount that was spent in the current month, and what remains of the budget. */
export class MonthlySpendDto {
  /** The month of the amounts, in UTC. */
  @ApiProperty({ pattern: '^\\d{4}-\\d{2}$', example: '2026-11' })
  month!: string;
  @UsdProperty()
  spent_usd!: number;
  /** The remaining budget. Null if there is no budget. */
  @UsdProperty({ nullable: true })
  remaining_usd!: number | null;
}

/** The model budget of a workspace, and the amount spent in the current month. */
export class ModelBudgetDto extends MonthlySpendDto {
  workspace_id!: string;
  /** Null if there is no budget. */
  @UsdProperty({ nullable: true })
  monthly_budget_usd!: number | null;
}
