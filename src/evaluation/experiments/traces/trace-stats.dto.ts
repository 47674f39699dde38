import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional } from 'class-validator';
import { IsJson, IsOneOf, Nested, ValuesCheckedLater } from '#platform/http';
import {
  TRACE_AGGREGATIONS,
  TRACE_GROUPS,
  TRACE_MEASURES,
  type TraceAggregation,
  type TraceMeasure,
} from '../../../telemetry';
import { TRACE_LABELS } from './experiment-trace.repository';

const METRICS_MAX = 20;
export const FILTERS_MAX = 20;
/** Maximum number of values of one filter. */
export const FILTER_VALUES_MAX = 100;

export const STATS_GROUPS = [...TRACE_GROUPS, ...TRACE_LABELS] as const;
export type StatsGroup = (typeof STATS_GROUPS)[number];

/** Fields of filters that take a number. */
export const STATS_FIGURES = TRACE_MEASURES.filter((measure) => measure !== 'count');
export const STATS_FIELDS = [...STATS_GROUPS, ...STATS_FIGURES, 'started_at'] as const;
export const STATS_OPERATORS = ['eq', 'in', 'gte', 'lte'] as const;

/** A statistic of each group. Traces without a value of the measure are left out. */
export class TraceMetricDto {
  /** `total_tokens` is input plus output tokens. `count` counts traces; combine it with `count` or `sum`. */
  @IsOneOf(TRACE_MEASURES)
  measure!: TraceMeasure;

  /** Percentiles are exact: over all values, with linear interpolation (Hyndman & Fan, definition 7). */
  @IsOneOf(TRACE_AGGREGATIONS)
  aggregation!: TraceAggregation;
}

const FILTER_VALUE = {
  description:
    'A string, a number for a measure, or a time (RFC 3339) for `started_at`. Null matches traces without a value. For `in`, a list of 1 to 100 of these.',
};

/** A condition on the trace. All filters must match. Measures cover the whole trace. */
export class TraceFilterDto {
  @IsOneOf(STATS_FIELDS)
  field!: (typeof STATS_FIELDS)[number];

  /** `gte` and `lte` are for measures and times. */
  @IsOneOf(STATS_OPERATORS)
  op!: (typeof STATS_OPERATORS)[number];

  @IsJson({ ...FILTER_VALUE, isRead: true })
  value!: unknown;
}

/** A query for statistics of an experiment's traces. */
@ValuesCheckedLater()
export class TraceStatsQueryDto {
  /** Absent or empty: count, duration p50 and p95, and sums of tokens, cost and errors. */
  @ApiProperty({ type: [TraceMetricDto], maxItems: METRICS_MAX, nullable: true, required: false })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(METRICS_MAX)
  @Nested(() => TraceMetricDto)
  metrics?: TraceMetricDto[] | null;

  /** Absent or empty: one row for all traces. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(STATS_GROUPS.length)
  @IsOneOf(STATS_GROUPS, {
    each: true,
    required: false,
    nullable: true,
    uniqueItems: true,
    maxItems: STATS_GROUPS.length,
  })
  group_by?: StatsGroup[] | null;

  @ApiProperty({ type: [TraceFilterDto], maxItems: FILTERS_MAX, nullable: true, required: false })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(FILTERS_MAX)
  @Nested(() => TraceFilterDto)
  filters?: TraceFilterDto[] | null;
}

const VALUES_BY_NAME = (description: string, type: string): ApiPropertyOptions =>
  ({ type: 'object', additionalProperties: { type: [type, 'null'] }, description }) as ApiPropertyOptions;

export class TraceStatsRowDto {
  @ApiProperty(VALUES_BY_NAME('A member for each of `group_by`. Null for traces without a value.', 'string'))
  group!: Record<string, string | null>;

  @ApiProperty(
    VALUES_BY_NAME('By `measure.aggregation`. Null if no trace of the group has the measure.', 'number'),
  )
  values!: Record<string, number | null>;
}

/** How much of the experiment the statistics cover. */
export class TraceCoverageDto {
  /** Results of the experiment. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  results!: number;
  /** Results that reference a trace. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  with_trace!: number;
  /** Distinct traces that results reference and that have arrived, whether or not they match the filters. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  traces_found!: number;
}

export class TraceStatsDto {
  /** One row for each group, in the order of the group's values, null last. */
  @ApiProperty({ type: [TraceStatsRowDto] })
  rows!: unknown;
  coverage!: TraceCoverageDto;
  /** Whether `rows` is cut, at 10,000 groups or 32 MiB. */
  is_truncated!: boolean;
}
