import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsOptional, IsString, Matches } from 'class-validator';
import { IsJson, IsOneOf, parseTime, valueErrors } from '#platform/http';
import { type FieldError, problem } from '#platform/problem';
import { FEED_TEXT_FIELDS } from '../trace-feed.repository';
import { TRACE_ID } from '../trace.types';
import { MEASURE_FIELDS, STATS_OPERATORS, type TraceFilter } from '../trace-stats.types';
import { type FilterInput, readFilters, statusErrors } from './trace-filters';
import { FiltersOf } from './trace-stats.dto';

/** Fields by which rules and requests select traces. */
const FILTER_FIELDS = [...FEED_TEXT_FIELDS, ...MEASURE_FIELDS] as const;

const FILTER_VALUE = {
  description:
    'A string, or a number for a measure; for `in`, a list of 1 to 100 values. Null matches traces ' +
    'without a value.',
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

const MUST_BE_TRACE_ID = 'must be 32 lower-case hexadecimal digits, not all zeros';

/** Declares a trace id, which may be absent or null. */
export const IsTraceId = () =>
  applyDecorators(
    ApiProperty({ type: 'string', pattern: TRACE_ID.source, nullable: true, required: false }),
    IsOptional(),
    IsString(),
    Matches(TRACE_ID, { message: MUST_BE_TRACE_ID }),
  );

/** Declares a list of trace ids, which may be absent or null unless it is `required`. */
export const IsTraceIds = ({
  minItems,
  maxItems,
  required = false,
}: {
  minItems?: number;
  maxItems: number;
  required?: boolean;
}) =>
  applyDecorators(
    ApiProperty({
      type: 'array',
      ...(minItems !== undefined && { minItems }),
      items: { type: 'string', pattern: TRACE_ID.source },
      maxItems,
      nullable: !required,
      required,
    }),
    ...(required ? [] : [IsOptional()]),
    IsArray(),
    ArrayMinSize(minItems ?? 0),
    ArrayMaxSize(maxItems),
    IsString({ each: true }),
    Matches(TRACE_ID, { each: true, message: MUST_BE_TRACE_ID }),
  );

/** Declares a member with the filters that select traces. */
export const IsRuleFilters = (): PropertyDecorator => FiltersOf(() => RuleFilterDto);

/** The conditions of a request on the traces that it selects. */
export interface TraceConditions {
  filters?: RuleFilterDto[] | null;
  since?: string | null;
  until?: string | null;
}

/** Returns the errors of filter values of the wrong type, and of an empty time range. */
export function conditionErrors(dto: TraceConditions): FieldError[] {
  const errors: FieldError[] = [];
  readFilters(dto.filters ?? [], FILTER_FIELDS, errors);
  const [since, until] = [timeOf(dto.since), timeOf(dto.until)];
  if (since && until && since >= until) {
    errors.push({ pointer: '/since', detail: 'must be earlier than `until`' });
  }
  return errors;
}

/** Checks the values of a selection. Errors: 422 for unknown enumeration values, fields, operators, and values of `status`. */
export function checkSelectionValues(dto: TraceConditions): void {
  const errors = [...valueErrors(dto, ''), ...statusErrors(dto.filters ?? [])];
  if (errors.length > 0) throw problem.validationFailed(errors);
}

/** Parses filters that have been checked before. */
export function parseFilters(filters: readonly FilterInput[]): TraceFilter[] {
  const errors: FieldError[] = [];
  const parsed = readFilters(filters, FILTER_FIELDS, errors);
  if (errors.length > 0) throw new Error(`Checked filters are invalid: ${JSON.stringify(errors)}`);
  return parsed;
}

/** Parses conditions that have been checked before. */
export const parseConditions = ({ filters, since, until }: TraceConditions) => ({
  filters: filters?.length ? parseFilters(filters) : undefined,
  since: timeOf(since),
  until: timeOf(until),
});

const timeOf = (text: string | null | undefined): Date | undefined =>
  (text ? parseTime(text) : null) ?? undefined;
