import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional } from 'class-validator';
import {
  IsJson,
  IsOneOf,
  Nested,
  NotBelow,
  instantOf,
  ValuesCheckedLater,
  IsOptionalTime,
} from '#platform/http';
import {
  FILTERS_MAX,
  METRICS_MAX,
  MEASURE_FIELDS,
  STATS_OPERATORS,
  TIME_GROUPS,
  TRACE_AGGREGATIONS,
  TRACE_GROUPS,
  SPAN_GROUPS,
  SPAN_MEASURE_FIELDS,
  SPAN_MEASURE_NAMES,
  SPAN_TRACE_FIELDS,
  type SpanMeasure,
  TRACE_LABEL_FIELDS,
  TRACE_MEASURES,
  type TraceAggregation,
  type TraceMeasure,
} from '../trace-stats.types';

/** Fields by which the traces of a workspace are grouped and filtered. */
const GROUPS = [...TRACE_GROUPS, ...TRACE_LABEL_FIELDS, 'session_id', ...TIME_GROUPS] as const;
export const TELEMETRY_STATS_FIELDS = [
  ...TRACE_GROUPS,
  ...TRACE_LABEL_FIELDS,
  'session_id',
  ...MEASURE_FIELDS,
  'started_at',
] as const;

/** A statistic of each group. Ignores traces without a value of the measure. Grouped by `model`, it is over the model's spans. */
export class TraceMetricDto {
  /** `total_tokens` is input plus output tokens. `count` counts traces, or grouped by `model` the model's
   * spans; its aggregation must be `count` or `sum`. */
  @IsOneOf(TRACE_MEASURES)
  measure!: TraceMeasure;

  /** Percentiles are exact: over all values, with linear interpolation (Hyndman & Fan, definition 7). */
  @IsOneOf(TRACE_AGGREGATIONS)
  aggregation!: TraceAggregation;
}

const FILTER_VALUE = {
  description:
    'A string, a number for a measure, or a time (RFC 3339) for `started_at`; for `in`, a list of 1 to ' +
    '100 of these. Null matches traces without a value.',
};

/** Declares `group_by` of a query: distinct fields. */
export const GroupsOf = (groups: readonly string[]) =>
  applyDecorators(
    IsOptional(),
    IsArray(),
    ArrayMaxSize(groups.length),
    IsOneOf(groups, {
      each: true,
      required: false,
      nullable: true,
      uniqueItems: true,
      maxItems: groups.length,
    }),
  );

/** Declares `filters` of a query. */
export const FiltersOf = (type: () => new () => TraceConditionDto) =>
  applyDecorators(
    ApiProperty({ type: () => [type()], maxItems: FILTERS_MAX, nullable: true, required: false }),
    IsOptional(),
    IsArray(),
    ArrayMaxSize(FILTERS_MAX),
    Nested(type),
  );

/** A condition on the trace. All filters must match. Measures cover the whole trace. */
export abstract class TraceConditionDto {
  abstract field: string;

  /** `gte` and `lte` apply only to measures and times. */
  @IsOneOf(STATS_OPERATORS)
  op!: (typeof STATS_OPERATORS)[number];

  @IsJson({ ...FILTER_VALUE, isRead: true })
  value!: unknown;
}

/** The metrics of a query. */
export class TraceMetricsDto {
  /** By default: count, p50 and p95 of the duration, and sums of tokens, cost and errors. */
  @ApiProperty({ type: [TraceMetricDto], maxItems: METRICS_MAX, nullable: true, required: false })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(METRICS_MAX)
  @Nested(() => TraceMetricDto)
  metrics?: TraceMetricDto[] | null;
}

/** A condition on a trace of the workspace. */
export class TelemetryTraceFilterDto extends TraceConditionDto {
  @IsOneOf(TELEMETRY_STATS_FIELDS)
  declare field: (typeof TELEMETRY_STATS_FIELDS)[number];
}

/** A query for statistics of a workspace's traces. */
@ValuesCheckedLater()
export class TelemetryTraceStatsQueryDto extends TraceMetricsDto {
  /** Inclusive lower bound of the start (RFC 3339). Defaults to seven days before `until`. */
  @IsOptionalTime()
  since?: string;

  /** Exclusive upper bound of the start (RFC 3339). Defaults to now, or to `since` if that is later. */
  @IsOptionalTime()
  @NotBelow('since', instantOf)
  until?: string;

  /**
   * Without groups, one row covers all traces. Grouped by `model`, statistics are over the spans of each model, named as it answered.
   */
  @GroupsOf(GROUPS)
  group_by?: (typeof GROUPS)[number][] | null;

  @FiltersOf(() => TelemetryTraceFilterDto)
  filters?: TelemetryTraceFilterDto[] | null;
}

const VALUES_BY_NAME = (description: string, type: string): ApiPropertyOptions =>
  ({ type: 'object', additionalProperties: { type: [type, 'null'] }, description }) as ApiPropertyOptions;

export class TraceStatsRowDto {
  @ApiProperty(
    VALUES_BY_NAME('One member for each item of `group_by`. Null for traces without a value.', 'string'),
  )
  group!: Record<string, string | null>;

  @ApiProperty(
    VALUES_BY_NAME(
      'One member for each metric, named `measure.aggregation`. Null if no trace of the group has the measure.',
      'number',
    ),
  )
  values!: Record<string, number | null>;
}

const SPAN_GROUP_FIELDS = [...SPAN_GROUPS, ...TIME_GROUPS] as const;
export const SPAN_STATS_FIELDS = [
  ...SPAN_GROUPS,
  ...SPAN_TRACE_FIELDS,
  ...SPAN_MEASURE_FIELDS,
  'started_at',
] as const;

/** A statistic of each group. Ignores spans without a value of the measure. */
export class SpanMetricDto {
  /**
   * Tokens and cost count once where a call or a step repeats the calls below it. `count` counts spans, with the aggregation `count`
   * or `sum`.
   */
  @IsOneOf(SPAN_MEASURE_NAMES)
  measure!: SpanMeasure;

  /** Percentiles are exact: over all values, with linear interpolation (Hyndman & Fan, definition 7). */
  @IsOneOf(TRACE_AGGREGATIONS)
  aggregation!: TraceAggregation;
}

/** A condition on the span, or on the user, environment, session, service or prompt of its trace. All filters must match. */
export class SpanFilterDto extends TraceConditionDto {
  @IsOneOf(SPAN_STATS_FIELDS)
  declare field: (typeof SPAN_STATS_FIELDS)[number];
}

/** A query for statistics of the spans of a workspace. */
@ValuesCheckedLater()
export class SpanStatsQueryDto {
  /** By default: count, p50 and p95 of the duration, and sums of tokens, cost and errors. */
  @ApiProperty({ type: [SpanMetricDto], maxItems: METRICS_MAX, nullable: true, required: false })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(METRICS_MAX)
  @Nested(() => SpanMetricDto)
  metrics?: SpanMetricDto[] | null;

  /** Inclusive lower bound of the start of the trace (RFC 3339). Defaults to seven days before `until`. */
  @IsOptionalTime()
  since?: string;

  /** Exclusive upper bound of the start of the trace (RFC 3339). Defaults to now, or to `since` if that is later. */
  @IsOptionalTime()
  @NotBelow('since', instantOf)
  until?: string;

  /**
   * Without groups, one row covers all spans. `model` is null for spans that are not the model's own calls; `user_id` and
   * `environment` are those of the trace.
   */
  @GroupsOf(SPAN_GROUP_FIELDS)
  group_by?: (typeof SPAN_GROUP_FIELDS)[number][] | null;

  @FiltersOf(() => SpanFilterDto)
  filters?: SpanFilterDto[] | null;
}

/** Statistics of the traces or the spans of a workspace. */
export class TelemetryTraceStatsDto {
  /** One row for each group, in the order of the group's values, null last. */
  @ApiProperty({ type: [TraceStatsRowDto] })
  rows!: unknown;
  /** The time range of the query, including defaults. */
  since!: Date;
  until!: Date;
  /** Whether `rows` is truncated, to the first 10,000 groups or to 32 MiB. */
  is_truncated!: boolean;
}
