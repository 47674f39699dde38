import type { RawJson } from '#platform/json';
import type { SpanHeadDto, SpanMeaningDto } from './span.dto';
import type { TraceRow } from './trace.dto';
import type { TraceFilter } from './trace-stats.types';

/** 32 lower-case hexadecimal digits, not all zeros (W3C Trace Context). */
export const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;

/**
 * The location of a trace's spans: the partition of the day on which the trace first arrived, and the trace's number. Stored in
 * the trace's row, which is looked up by workspace and id.
 */
export interface TraceLocation {
  /** The UTC day by the clock of the database, such as `2026-11-20`. */
  day: string;
  trace_no: number;
}

/** A trace, and the location of its spans. */
export interface LocatedTrace extends TraceLocation {
  trace_id: string;
  span_count: number;
}

/** A span as stored, for scoring. */
export interface StoredSpan extends SpanHeadDto, SpanMeaningDto {
  trace_id: string;
  /** Null, like the events and links, if they exceed the reader's limit. */
  attributes: RawJson | null;
  events: RawJson | null;
  links: RawJson | null;
  /** Size of attributes, events and links as JSON, in bytes. */
  content_size: number;
}

/** A span for scoring, with input and output from its attributes, its events, or the log records about it. */
export interface TraceSpan extends StoredSpan {
  /** Null if the span has none, or if it exceeds the reader's limit. */
  input: RawJson | null;
  output: RawJson | null;
}

/** Selects the spans to read. */
export interface SpanReading {
  /** Maximum number of spans. */
  limit: number;
  /** Maximum size of names, and of content. */
  maxBytes: number;
  /** Whether to read only spans that may be model calls. */
  callsOnly?: boolean;
  /** Whether to read the last spans by start, instead of the first. */
  fromEnd?: boolean;
  /** For a single trace: the id of the span after which to start. */
  after?: string | undefined;
}

/** Selects the traces and sessions of a batch. */
export interface BatchRequest {
  traceIds: readonly string[];
  /** Returns the sessions to read, which may depend on the traces. */
  sessionsOf: (traces: readonly TraceRow[]) => string[];
  /** Whether to also read the spans of the sessions' traces. */
  withSpansOfSessions: boolean;
}

/** Limits of a batch. */
export interface BatchLimits {
  /** Total size of input and output of the traces in `traceIds`. */
  maxBytes: number;
  /** Number of traces per session. */
  sessionTraces: number;
  /** Total number of spans. */
  spans: number;
  /** Total size of the content of sessions, of the content of spans, and of log records: each may have this size. */
  bytes: number;
}

/** Traces and sessions that were read as a batch. */
export interface TraceBatch {
  traces: TraceRow[];
  /** The traces of each session that was read completely, by start. */
  sessions: Map<string, TraceRow[]>;
  /** The spans of each trace whose spans were read completely, by start. */
  spans: Map<string, TraceSpan[]>;
}

/** Limits of reading one trace. */
export interface TreeLimits {
  spans: number;
  /** Total size of the names and status messages of the spans. */
  nameBytes: number;
  /** Total size of input and output. If they exceed it, both are omitted. */
  contentBytes: number;
}

/** Conditions on traces. A trace must meet all of them. */
export interface TraceSelection {
  trace_ids?: string[] | undefined;
  session_ids?: string[] | undefined;
  /** Inclusive, by the trace's start. */
  since?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
  /** Conditions on the trace. */
  filters?: readonly TraceFilter[] | undefined;
}

/** A position in a list of selected traces, newest first. */
export interface TracePosition {
  trace_id: string;
  /** Start of the trace, in microseconds since 1970. */
  started_us: string;
}

/** A selected trace. */
export interface TraceRef extends TracePosition {
  session_id: string | null;
  started_at: Date;
}

/** A position in a list of selected sessions, newest first. */
export interface SessionPosition {
  session_id: string;
  /** Start of its last selected trace, in microseconds since 1970. */
  last_started_us: string;
}

/** A selected session. */
export interface SessionRef extends SessionPosition {
  /** Start of its last selected trace. */
  last_started_at: Date;
}
