import type { RawJson } from '#platform/json';

/** Figures of a trace. `total_tokens` is input plus output, as far as they are known; `count` counts traces. */
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
 * Aggregations of a measure over traces. Traces whose measure is null are ignored; `count` is the number of the others.
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

/** Fields of a trace to group by. `status` is `error` with at least one span in error, else `ok`. */
export const TRACE_GROUPS = ['model', 'root_name', 'status', 'service_name'] as const;

export const TRACE_STATUSES = ['ok', 'error'] as const;

export interface TraceMetric {
  measure: TraceMeasure;
  aggregation: TraceAggregation;
}

/** Traces by their ids, with labels of the caller to group and filter them by. */
export interface LabelledTraces {
  /** The names of the labels, which are constants of the code. */
  labels: readonly string[];
  /**
   * A JSON list with an object for each trace, each trace once: its `trace_id`, and for each label a list of texts. JSON,
   * because it goes from one statement into another and nothing in between has to read it.
   */
  traces: RawJson;
}

/** A value is in `among` (null for traces without one), or within inclusive bounds. */
export interface TraceFilter {
  /** A measure but `count`, `started_at` (to the millisecond), one of TRACE_GROUPS, or a label. */
  field: string;
  among?: readonly (string | number | Date | null)[];
  from?: number | Date;
  to?: number | Date;
}

/**
 * Statistics over traces. Without groups there is exactly one row. A trace with several values of a group (models,
 * labels) belongs to the group of each; tokens and cost by model are those of the model, so that they add up to those of
 * the traces. A filter selects traces and, on a field of `groupBy`, groups.
 */
export interface TraceStatsQuery {
  among: LabelledTraces;
  metrics: readonly TraceMetric[];
  /** Of TRACE_GROUPS and the labels, each once. */
  groupBy: readonly string[];
  /** All of them must hold. */
  filters: readonly TraceFilter[];
}

export interface TraceStats {
  /** `{"group": {"model": …}, "values": {"duration_ms.p95": …}}` each, sorted by group, null last. */
  rows: RawJson[];
  /** There are more groups than `rows`. */
  isTruncated: boolean;
  /** How many of the traces are stored, whether or not they meet the filters. */
  tracesFound: number;
}
