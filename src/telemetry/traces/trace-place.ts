/**
 * Where a trace's spans are: in the partition of the day on which the trace first arrived, under its number. Only the
 * trace's own row tells it, and that is found by workspace and id.
 */
export interface TracePlace {
  /** UTC, by the clock of the database, as `2026-11-20`. */
  day: string;
  trace_no: number;
}

/** A trace that is there. */
export interface PlacedTrace extends TracePlace {
  trace_id: string;
  span_count: number;
}
