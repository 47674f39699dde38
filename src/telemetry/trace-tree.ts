import type { TraceRow } from './trace-store';

/** What a span's attributes mean, as far as they tell it. */
export interface SpanMeaningRow {
  /** What kind of step it is, as its instrumentation calls it. */
  operation: string | null;
  provider: string | null;
  model: string | null;
  agent_name: string | null;
  tool_name: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  /** Of the input tokens. */
  cached_input_tokens: number | null;
  /** Of the output tokens. */
  reasoning_tokens: number | null;
  cost_usd: number | null;
}

/** A span without what it was sent with. */
export interface SpanHead extends SpanMeaningRow {
  span_id: string;
  parent_span_id: string | null;
  name: string;
  /** unspecified, internal, server, client, producer or consumer. */
  kind: string;
  /** `code`: unset, ok or error. */
  status: { code: string; message: string | null };
  started_at: Date;
  ended_at: Date;
  /** To the microsecond; 0 where the end is before the start. */
  duration_ms: number;
}

/** A trace and its first spans, by start, at the same moment. */
export interface TraceTree {
  trace: TraceRow;
  spans: SpanHead[];
}

/** How much of a trace is read at once. */
export interface TreeLimits {
  spans: number;
  /** Bytes that the names and messages of those may come to. */
  nameBytes: number;
  /** Bytes of input and output, which are left out where they are more. */
  contentBytes: number;
}
