import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsNumber, IsPositive, Max } from 'class-validator';

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
