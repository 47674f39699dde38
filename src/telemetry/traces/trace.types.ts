import type { RawJson } from '#platform/json';
import type { SpanHeadDto, SpanMeaningDto } from './span.dto';
import type { TraceRow } from './trace.dto';
import type { TraceFilter } from './trace-stats.types';

/** 32 lower-case hexadecimal digits, not all zeros (W3C Trace Context). */
export const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;

/**
 * The location of a trace's spans: the partition of the day on which the trace first arrived, and the trace's number.
 * Stored in the trace's row, which is looked up by workspace and id.
 */
export interface TraceLocation {
  /** Such as `2026-11-20`: UTC, by the clock of the database. */
  day: string;
  trace_no: number;
}

/** A trace, and the location of its spans. */
export interface LocatedTrace extends TraceLocation {
  trace_id: string;
  span_count: number;
}

/** A span as it is stored, for scoring. */
export interface StoredSpan extends SpanHeadDto, SpanMeaningDto {
  trace_id: string;
  /** These three are null if they exceed the reader's limit. */
  attributes: RawJson | null;
  events: RawJson | null;
  links: RawJson | null;
  /** Size of these three as JSON, in bytes. */
  content_size: number;
}

/** A span as scoring reads it: with its input and output, from its attributes, its events, or the log records about it. */
export interface TraceSpan extends StoredSpan {
  /** Null if there is none, or it exceeds the reader's limit. */
  input: RawJson | null;
  output: RawJson | null;
}

/** Which spans of traces to read. */
export interface SpanReading {
  /** At most. */
  limit: number;
  /** Size of names, and of content, at most. */
  maxBytes: number;
  /** Reads only spans that may be calls of models. */
  callsOnly?: boolean;
  /** Reads the last spans by start, instead of the first. */
  fromEnd?: boolean;
}

/** Traces and sessions to read together. */
export interface BatchRequest {
  traceIds: readonly string[];
  /** Returns the sessions to read, which may depend on the traces. */
  ofSessions: (traces: readonly TraceRow[]) => string[];
  /** Whether to read the spans of the sessions' traces too. */
  withSpansOfSessions: boolean;
}

/** Limits of reading traces and sessions together. */
export interface BatchLimits {
  /** Size of input and output of all traces that were asked for by their ids. */
  maxBytes: number;
  /** Traces of one session. */
  sessionTraces: number;
  /** Spans in total. */
  spans: number;
  /** Size of the content of all sessions, of all spans, and of all log records. */
  bytes: number;
}

/** Traces and sessions that were read together. */
export interface TraceBatch {
  traces: TraceRow[];
  /** The traces by start of each session that was read as a whole. */
  sessions: Map<string, TraceRow[]>;
  /** The spans by start of each trace whose spans were read as a whole. */
  spans: Map<string, TraceSpan[]>;
}

/** Limits of reading one trace. */
export interface TreeLimits {
  spans: number;
  /** Size of the names and status messages of the spans. */
  nameBytes: number;
  /** Size of input and output, both of which are omitted if they exceed it. */
  contentBytes: number;
}

/** Conditions that traces must all meet. */
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
