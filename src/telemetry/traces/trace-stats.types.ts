import type { RawJson } from '#platform/json';

/** Figures of a trace. `total_tokens` adds input and output, or is the one that is known; `count` counts traces. */
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
 * Aggregations of a measure over traces, ignoring those whose measure is null; `count` counts the others.
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

/** Fields of a trace to group by. `status` is `error` if at least one span has an error, else `ok`. */
export const TRACE_GROUPS = ['model', 'root_name', 'status', 'service_name'] as const;

export const TRACE_STATUSES = ['ok', 'error'] as const;

export interface TraceMetric {
  measure: TraceMeasure;
  aggregation: TraceAggregation;
}

/** Traces by id, each with labels that the caller groups and filters by. */
export interface LabelledTraces {
  /** Names of the labels, in lower-case letters and underscores. */
  labels: readonly string[];
  /**
   * A JSON list of objects, one per distinct trace: its `trace_id`, and for each label a list of texts. It is JSON so that
   * the result of one statement becomes the parameter of another without being parsed in between.
   */
  traces: RawJson;
}

/** A condition that a value is in `among` (null stands for a missing value), or within inclusive bounds. */
export interface TraceFilter {
  /** A measure other than `count`, `started_at` (to the millisecond), one of TRACE_GROUPS, or a label. */
  field: string;
  among?: readonly (string | number | Date | null)[];
  from?: number | Date;
  to?: number | Date;
}

/**
 * A query for statistics over traces. Without `groupBy`, the result is one row. A trace with several models or labels
 * belongs to several groups. By model, tokens and cost are those of the model, so that they add up to those of the traces.
 * A filter selects traces; on a field of `groupBy`, it selects groups.
 */
export interface TraceStatsQuery {
  among: LabelledTraces;
  metrics: readonly TraceMetric[];
  /** Distinct fields of TRACE_GROUPS and labels. */
  groupBy: readonly string[];
  /** All of them must hold. */
  filters: readonly TraceFilter[];
}

export interface TraceStats {
  /** Objects `{"group": {"model": …}, "values": {"duration_ms.p95": …}}`, sorted by group, null last. */
  rows: RawJson[];
  /** Whether there are more groups than `rows`. */
  isTruncated: boolean;
  /** Number of these traces that are stored, whether or not they meet the filters. */
  tracesFound: number;
}
