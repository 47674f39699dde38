import type { Scope } from '#platform/auth';
import type { TraceFilter } from './trace-stats';

/**
 * A place in the order in which traces arrive: by when the last of their spans were stored, by the clock of the
 * database, and then by their ids. A trace that gets spans again moves to the end.
 */
export interface ArrivalPlace {
  /** Microseconds since 1970. */
  arrived_us: number;
  /** Empty: before all traces of that moment. */
  trace_id: string;
}

/** Places after the one and before the other time. */
export interface ArrivalSpan {
  after: ArrivalPlace;
  /** Microseconds since 1970, exclusive. No later than `settled_us`, so that nothing can come to be before it. */
  before_us: number;
}

/** What the store's clock says, in microseconds since 1970. */
export interface ArrivalClock {
  now_us: number;
  /** All that arrived before this can be read, or never will be: no transaction that could still add to it is open. */
  settled_us: number;
}

/** Which arrivals to read, and what is to be told of them. */
export interface ArrivalQuery extends ArrivalSpan {
  grain: 'trace' | 'session';
  /** All of them hold: of the trace, or of one trace of the session. */
  filters: readonly TraceFilter[];
  limit: number;
}

/** A trace that has arrived. */
export interface TraceArrival extends ArrivalPlace {
  session_id: string | null;
  /** The trace; by session, its session where nothing of that arrived later, else null. */
  target_id: string | null;
  /** Whether what `target_id` names meets the filters. */
  is_met: boolean;
}

/** What filters of arrivals are about, besides the measures. */
export const ARRIVAL_TEXTS = ['root_name', 'service_name', 'model', 'status', 'session_id'] as const;

/** Tells what has arrived, to those who go through it once, in its order. */
export abstract class TraceArrivals {
  abstract clock(): Promise<ArrivalClock>;

  /**
   * Of spans in different workspaces, which have a trace in them; for the service itself, which watches them all.
   * What is read grows with how many are asked for, not with what they hold.
   */
  abstract whereAny<Watched extends ArrivalSpan & { workspace_id: string }>(
    watched: readonly Watched[],
  ): Promise<Watched[]>;

  /** Traces in the order in which they arrived, at most `limit` of them. */
  abstract read(scope: Scope, query: ArrivalQuery): Promise<TraceArrival[]>;
}
