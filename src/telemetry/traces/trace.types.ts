import type { OtlpSpan } from '#otlp';
import type { Scope } from '#platform/auth';
import type { RawJson } from '#platform/json';
import type { SpanHeadDto } from './span.dto';

/** 32 lower-case hexadecimal digits, not all zeros (W3C Trace Context). */
export const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;

/** Spans that are sent together. */
export interface SpanBatch {
  scope: Scope;
  spans: readonly OtlpSpan[];
}

/**
 * The location of a trace's spans: the partition of the day on which the trace first arrived, and the trace's number.
 * Only the trace's own row has it, which is found by workspace and id.
 */
export interface TracePlace {
  /** UTC, by the clock of the database, as `2026-11-20`. */
  day: string;
  trace_no: number;
}

/** A stored trace. */
export interface PlacedTrace extends TracePlace {
  trace_id: string;
  span_count: number;
}

/** A span as scoring reads it. */
export interface TraceSpan extends SpanHeadDto {
  trace_id: string;
  /** All three are null where they are more than the reader's limit. */
  attributes: RawJson | null;
  events: RawJson | null;
  links: RawJson | null;
  /** Bytes of the three as JSON. */
  content_size: number;
}

/** Limits of one read of a trace. */
export interface TreeLimits {
  spans: number;
  /** Bytes of the names and status messages of the spans. */
  nameBytes: number;
  /** Bytes of input and output. Both are left out where they are more. */
  contentBytes: number;
}

/** Traces to select. All conditions must hold. */
export interface TraceSelection {
  trace_ids?: string[] | undefined;
  session_ids?: string[] | undefined;
  /** Inclusive, by the trace's start. */
  since?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
}

/** A position in the traces of a selection, newest first. */
export interface TracePosition {
  trace_id: string;
  /** Start in microseconds since 1970. */
  started_us: string;
}

/** A trace to choose from. */
export interface TraceRef extends TracePosition {
  session_id: string | null;
  started_at: Date;
}

/** A position in the sessions of a selection, newest first. */
export interface SessionPosition {
  session_id: string;
  /** Start of its last trace that meets the selection, in microseconds since 1970. */
  last_started_us: string;
}

/** A session to choose from. */
export interface SessionRef extends SessionPosition {
  /** Start of its last trace that meets the selection. */
  last_started_at: Date;
}
