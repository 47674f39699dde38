import type { RawJson } from '#platform/json';

/** Measures of a trace. `total_tokens` is the sum of input and output, or the known one of them. `count` counts traces. */
export const TRACE_MEASURES = [
  'duration_ms',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cost_usd',
  'span_count',
  'error_count',
  'count',
] as const;
export type TraceMeasure = (typeof TRACE_MEASURES)[number];

/**
 * Aggregations of a measure over traces. All ignore traces whose measure is null; `count` counts the others.
 * Percentiles follow Hyndman & Fan (Sample Quantiles in Statistical Packages, 1996), definition 7: linear interpolation
 * between the two nearest values.
 */
export const TRACE_AGGREGATIONS = [
  'sum',
  'avg',
  'min',
  'max',
  'p50',
  'p75',
  'p90',
  'p95',
  'p99',
  'count',
] as const;
export type TraceAggregation = (typeof TRACE_AGGREGATIONS)[number];

/** Fields of every trace to group by. `status` is `error` if at least one span has an error, else `ok`. */
export const TRACE_GROUPS = ['model', 'root_name', 'status', 'service_name', 'agent_version'] as const;

/** Times to group by, of the start in UTC: `2026-11-20T14:00:00Z` and `2026-11-20`. */
export const TIME_GROUPS = ['hour', 'day'] as const;

/** Further measures of a span. */
const SPAN_ONLY_MEASURES = [
  'time_to_first_token_ms',
  'cached_input_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
] as const;

/** Measures of a span. `count` counts spans. */
export const SPAN_MEASURE_NAMES = [
  'duration_ms',
  'time_to_first_token_ms',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'total_tokens',
  'cost_usd',
  'error_count',
  'count',
] as const;
export type SpanMeasure = (typeof SPAN_MEASURE_NAMES)[number];

/** Fields of every span to group by, in addition to times. The user and the environment are those of its trace. */
export const SPAN_GROUPS = [
  'model',
  'operation',
  'tool_name',
  'provider',
  'agent_name',
  'status',
  'user_id',
  'environment',
] as const;

/** Fields of a span's trace to filter by. */
export const SPAN_TRACE_FIELDS = ['session_id', 'service_name', 'prompt_name', 'prompt_version'] as const;

/** Labels of a trace to filter by. A trace has any number of tags. */
export const TRACE_LABEL_FIELDS = ['user_id', 'environment', 'tag', 'prompt_name', 'prompt_version'] as const;

export const TRACE_STATUSES = ['ok', 'error'] as const;

/** Filter fields that take a number. */
export const MEASURE_FIELDS = TRACE_MEASURES.filter((measure) => measure !== 'count');
export const SPAN_MEASURE_FIELDS = SPAN_MEASURE_NAMES.filter((measure) => measure !== 'count');
/** Filter fields of traces and of spans that take a number. */
export const NUMBER_FIELDS: readonly string[] = [...MEASURE_FIELDS, ...SPAN_ONLY_MEASURES];
export const STATS_OPERATORS = ['eq', 'in', 'gte', 'lte'] as const;

/** Limits of a query: metrics, filters, and values of one filter. */
export const METRICS_MAX = 20;
export const FILTERS_MAX = 20;
export const FILTER_VALUES_MAX = 100;

/** The metrics of a query without `metrics`. */
export const DEFAULT_METRICS: readonly TraceMetric[] = [
  { measure: 'count', aggregation: 'count' },
  { measure: 'duration_ms', aggregation: 'p50' },
  { measure: 'duration_ms', aggregation: 'p95' },
  { measure: 'input_tokens', aggregation: 'sum' },
  { measure: 'output_tokens', aggregation: 'sum' },
  { measure: 'total_tokens', aggregation: 'sum' },
  { measure: 'cost_usd', aggregation: 'sum' },
  { measure: 'error_count', aggregation: 'sum' },
];

export interface TraceMetric {
  measure: TraceMeasure | SpanMeasure;
  aggregation: TraceAggregation;
}

/** The traces of a workspace that started in a period. */
export interface TracePeriod {
  /** Microseconds since 1970, inclusive. */
  since_us: bigint;
  /** Microseconds since 1970, exclusive. */
  until_us: bigint;
}

/** Traces by id, with labels to group and filter by. */
export interface LabelledTraces {
  /** Names of the labels, in lower-case letters and underscores. */
  labels: readonly string[];
  /**
   * A JSON list of objects, one per distinct trace, with its `trace_id` and a list of texts per label. It is JSON so that the
   * result of one statement becomes the parameter of another without parsing.
   */
  traces: RawJson;
}

/** A condition that a value is in `among` (null stands for a missing value), or within inclusive bounds. */
export interface TraceFilter {
  /** A measure other than `count`, `started_at` (to the millisecond), one of TRACE_GROUPS and TRACE_LABEL_FIELDS, `session_id`, or a label. */
  field: string;
  among?: readonly (string | number | Date | null)[];
  from?: number | Date;
  to?: number | Date;
}

/**
 * A query for statistics over traces or their spans. Without `groupBy`, the result is one row. A trace with several labels belongs
 * to several groups. Grouped by model, statistics of traces are over the spans of the models, so that a model has its own
 * duration, errors and usage, and the groups add up to the usage of the traces. A filter selects traces, or spans; on a field of
 * `groupBy`, it selects groups.
 */
export interface TraceStatsQuery {
  among: LabelledTraces | TracePeriod;
  /** Whether the statistics are over the spans of the traces. */
  isOverSpans?: boolean;
  metrics: readonly TraceMetric[];
  /** Distinct fields of TRACE_GROUPS or SPAN_GROUPS, `session_id`, `tag`, TIME_GROUPS and labels. */
  groupBy: readonly string[];
  /** All filters must match. */
  filters: readonly TraceFilter[];
}

export interface TraceStats {
  /** Objects `{"group": {"model": …}, "values": {"duration_ms.p95": …}}`, sorted by group, null last. */
  rows: RawJson[];
  /** Whether there are more groups than in `rows`. */
  isTruncated: boolean;
  /** Number of the labelled traces that are stored, whether or not they meet the filters. Null for a period. */
  tracesFound: number | null;
}
