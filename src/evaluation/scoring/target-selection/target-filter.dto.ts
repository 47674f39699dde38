import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional } from 'class-validator';
import { IsJson, IsOneOf, Nested, valueErrors } from '#platform/http';
import { type FieldError, problem } from '#platform/problem';
import {
  FEED_TEXT_FIELDS,
  FILTERS_MAX,
  type GivenFilter,
  readFilters,
  STATS_FIGURES,
  STATS_OPERATORS,
  statusErrors,
  type TraceFilter,
} from '../../../telemetry';

/** Fields of a trace that select it for scoring. */
export const FILTER_FIELDS = [...FEED_TEXT_FIELDS, ...STATS_FIGURES] as const;

const FILTER_VALUE = {
  description:
    'A text, or a number for a measure. Null matches traces without a value. For `in`, a list of 1 to 100 values.',
};

/** A condition on a field of a trace, in the form of the filters of trace statistics. */
export class RuleFilterDto {
  @IsOneOf(FILTER_FIELDS)
  field!: (typeof FILTER_FIELDS)[number];

  /** `gte` and `lte` apply only to measures. */
  @IsOneOf(STATS_OPERATORS)
  op!: (typeof STATS_OPERATORS)[number];

  @IsJson({ ...FILTER_VALUE, isRead: true })
  value!: unknown;
}

/** Declares a member with the filters that select traces. */
export const IsRuleFilters = (): PropertyDecorator =>
  applyDecorators(
    ApiProperty({ type: [RuleFilterDto], maxItems: FILTERS_MAX, nullable: true, required: false }),
    IsOptional(),
    IsArray(),
    ArrayMaxSize(FILTERS_MAX),
    Nested(() => RuleFilterDto),
  );

interface WithFilters {
  filters?: RuleFilterDto[] | null;
}

/** Returns the errors of filter values of the wrong type. */
export function filterErrors({ filters }: WithFilters): FieldError[] {
  const errors: FieldError[] = [];
  readFilters(filters ?? [], FILTER_FIELDS, errors);
  return errors;
}

/** Errors: 422 for unknown values of enumerated members, of fields and operators, and of `status`. */
export function checkSelectionValues(dto: WithFilters): void {
  const errors = [...valueErrors(dto, ''), ...statusErrors(dto.filters ?? [])];
  if (errors.length > 0) throw problem.validationFailed(errors);
}

/** Parses filters that were valid when they were checked. */
export function parseFilters(filters: readonly GivenFilter[]): TraceFilter[] {
  const errors: FieldError[] = [];
  const read = readFilters(filters, FILTER_FIELDS, errors);
  if (errors.length > 0) throw new Error(`Checked filters cannot be read: ${JSON.stringify(errors)}`);
  return read;
}
