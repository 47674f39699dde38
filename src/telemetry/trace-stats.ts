import type { RawJson } from '#platform/json';
import type { KeptIds } from './trace-store';

/** Figures of a trace. `total_tokens` is input and output, as far as they are told; `count` the trace itself. */
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
 * What is made of a measure over traces. Traces for which it is null count for none of them; `count` is how many the
 * others are. A percentile is that of Hyndman & Fan (Sample Quantiles in Statistical Packages, 1996), definition 7:
 * of all the values in order, and between two of them by linear interpolation.
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

/** What a store knows itself to group traces by. `status` is `error` with at least one span in error, else `ok`. */
export const TRACE_GROUPS = ['model', 'root_name', 'status', 'service_name'] as const;

export const TRACE_STATUSES = ['ok', 'error'] as const;

export interface TraceMetric {
  measure: TraceMeasure;
  aggregation: TraceAggregation;
}

/**
 * Traces that another area keeps, with labels of its own to group and filter them by: a SELECT of `trace_id`, each
 * once, and of a `text[]` for each label.
 */
export interface LabelledTraces extends KeptIds {
  labels: readonly string[];
}

/** A value is in `among` (null for traces without one), or within bounds that it may equal. */
export interface TraceFilter {
  /** A measure but `count`, `started_at` (to the millisecond), one of TRACE_GROUPS, or a label. */
  field: string;
  among?: readonly (string | number | Date | null)[];
  from?: number | Date;
  to?: number | Date;
}

/**
 * Figures over traces. Without groups it has one row, whatever there is. A trace with several values of what it is
 * grouped by (models, labels) is in the group of each; tokens and cost by model are those of the model, so that they
 * add up to those of the traces. A filter chooses traces, and of what is grouped by, groups.
 */
export interface TraceStatsQuery {
  among: LabelledTraces;
  metrics: readonly TraceMetric[];
  /** Of TRACE_GROUPS and the labels, each once. */
  groupBy: readonly string[];
  /** All of them hold. */
  filters: readonly TraceFilter[];
}

export interface TraceStats {
  /** `{"group": {"model": …}, "values": {"duration_ms.p95": …}}` each, by group, null last. */
  rows: RawJson[];
  /** There are more groups than are answered. */
  isTruncated: boolean;
  /** Those of the traces that there are, whether or not they meet the filters. */
  tracesFound: number;
}
