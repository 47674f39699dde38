import type { TRACE_STATUSES } from './trace-stats';

/** An attribute that one of a trace's spans has, or the resource of one. */
export interface AttributeFilter {
  key: string;
  /** Of a text the text itself, of anything else its JSON. */
  value: string;
}

/** By what is listed, in microseconds since 1970. */
export interface TimeBounds {
  /** Inclusive. */
  since_us?: bigint;
  /** Exclusive. */
  until_us?: bigint;
}

/** Which traces to list, by start. All that is given holds. */
export interface TraceListFilters extends TimeBounds {
  session_id?: string;
  service_name?: string;
  root_name?: string;
  /** A model that one of its spans names. */
  model?: string;
  /** `error` with at least one span in error, else `ok`. */
  status?: (typeof TRACE_STATUSES)[number];
  /** Both inclusive. */
  min_duration_ms?: number;
  max_duration_ms?: number;
  attributes?: readonly AttributeFilter[];
  /** Occurs in the name of a span, or in what the root was given or answered; upper and lower case are the same. */
  q?: string;
}

/** A session, with the totals of its traces. */
export interface SessionSummary {
  session_id: string;
  /** Start of its first and of its last trace. */
  first_started_at: Date;
  last_started_at: Date;
  trace_count: number;
  span_count: number;
  /** Spans whose status is an error. */
  error_count: number;
  /** Added up over the traces that tell them; null where none does. */
  input_tokens: number | null;
  output_tokens: number | null;
  /** Null where no trace tells it, or one that used tokens does not: a sum over the others would pass for the whole. */
  cost_usd: number | null;
  /** Sorted; at most 100 each. */
  models: string[];
  service_names: string[];
  /** There are more traces than its totals are over, which are those of the last ones. */
  is_truncated: boolean;
}

/** Which sessions to list, by the start of their last trace. */
export type SessionListFilters = TimeBounds;
