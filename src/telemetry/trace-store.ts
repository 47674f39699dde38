import type { OtlpSpan } from '#otlp';
import type { Scope } from '#platform/auth';
import type { RawJson } from '#platform/json';
import type { ListQueryDto, RowPage } from '#platform/paging';
import type { SessionListFilters, SessionSummary, TraceListFilters } from './trace-list';
import type { SpanMeaningRow, TraceTree, TreeLimits } from './trace-tree';
import type { TraceStats, TraceStatsQuery } from './trace-stats';

/** 32 lower-case hexadecimal digits, not all zeros (W3C Trace Context). */
export const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;

/** The figures and names of a trace, kept up to date as its spans arrive, late and out of order. */
export interface TraceSummary {
  trace_id: string;
  /** Null until the root span (one without a parent) arrives; of several, the earliest. */
  root_name: string | null;
  started_at: Date;
  ended_at: Date;
  /** From the first start to the last end, to the microsecond. */
  duration_ms: number;
  span_count: number;
  /** Spans whose status is an error. */
  error_count: number;
  /**
   * Added up over calls of models. Where only spans of steps that consist of such calls (an agent, a chain) tell
   * tokens, the largest of them, because they repeat one another. Null where no span tells any.
   */
  input_tokens: number | null;
  output_tokens: number | null;
  /** The same for cost: what a span says it cost, else its tokens by the price table. */
  cost_usd: number | null;
  /** Sorted; at most 100. */
  models: string[];
  /** Of the root, else of the earliest span that tells one. */
  session_id: string | null;
  service_name: string | null;
}

/** A trace as a whole. */
export interface TraceRow extends TraceSummary {
  /** What the root span was given and answered, by `gen_ai.*` or OpenInference; null where it says neither. */
  input: RawJson | null;
  output: RawJson | null;
  /** Bytes of both as JSON. Where a reader has no room for them, both are null, and this tells it. */
  content_size: number;
}

/** A span as it is answered. Attributes are verbatim. */
export interface SpanRow extends SpanMeaningRow {
  trace_id: string;
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
  attributes: RawJson;
  /** `[{name, timestamp, attributes, dropped_attributes_count}]` */
  events: RawJson;
  /** `[{trace_id, span_id, trace_state, attributes, dropped_attributes_count}]` */
  links: RawJson;
  /** `{attributes, dropped_attributes_count, schema_url}` */
  resource: RawJson;
  /** `{name, version, attributes, dropped_attributes_count, schema_url}` */
  scope: RawJson;
}

/** A span as scoring reads it. */
export interface TraceSpan extends Omit<
  SpanRow,
  'attributes' | 'events' | 'links' | 'resource' | 'scope' | keyof SpanMeaningRow
> {
  /** Null, all three, where the reader has no room for them. */
  attributes: RawJson | null;
  events: RawJson | null;
  links: RawJson | null;
  /** Bytes of the three as JSON. */
  content_size: number;
}

/**
 * Ids that another area keeps in the service's own database: a SELECT of one column of texts, in which each `?` stands
 * for the next of `values`. A store in that database joins with it; one outside of it would read the ids first.
 */
export interface KeptIds {
  select: string;
  values: readonly unknown[];
}

/** Conditions on the id that is asked for: that of the trace, or that of the session. */
export interface IdConditions {
  /** In all of these. */
  among?: readonly KeptIds[];
  /** In none of these. */
  except?: readonly KeptIds[];
}

export interface TraceSelection extends IdConditions {
  trace_ids?: string[];
  session_ids?: string[];
  /** Inclusive, by the trace's start. */
  since?: Date;
  /** Exclusive. */
  until?: Date;
}

/** Spans that are sent together. */
export interface SpanBatch {
  scope: Scope;
  spans: readonly OtlpSpan[];
}

/** What of a trace is needed to choose it. */
export interface TraceRef {
  trace_id: string;
  session_id: string | null;
  started_at: Date;
}

/** What of a session is needed to choose it. */
export interface SessionRef {
  session_id: string;
  /** Start of its last trace that meets the selection. */
  last_started_at: Date;
}

/**
 * Where traces are kept, and what evaluation reads them through; a columnar store could take the place of
 * PostgreSQL behind it. Everything is within the scope's workspace.
 *
 * Errors of every method: 503 `service_unavailable` when the store cannot be reached, or does not answer in time.
 */
export abstract class TraceStore {
  /**
   * This store, for a request: what is read through it is given up when the signal is aborted, and fails with its reason.
   * What waits for its turn is then never read.
   */
  abstract heeding(signal: AbortSignal): TraceStore;

  /**
   * Stores spans, each once however often it is sent, and returns when they are committed and can be read. Several
   * batches, of any workspaces, are stored together or not at all.
   */
  abstract append(batches: readonly SpanBatch[]): Promise<void>;

  /** Those of these traces that exist, in no particular order, without content of more than `maxBytes`. */
  abstract findTraces(scope: Scope, traceIds: readonly string[], maxBytes: number): Promise<TraceRow[]>;

  /** The same, without what the roots were given and answered, which may be large. */
  abstract summarizeTraces(scope: Scope, traceIds: readonly string[]): Promise<TraceSummary[]>;

  /** How many of these traces exist; each id is given once. */
  abstract countTraces(scope: Scope, traceIds: readonly string[]): Promise<number>;

  /**
   * A page of the traces that meet all filters, by start (`sort` is `-started_at` or `started_at`). Where it takes a search
   * to find them, a page may end early, and the total be null: `next_cursor` alone tells whether there are more.
   */
  abstract listTraces(
    scope: Scope,
    filters: TraceListFilters,
    query: ListQueryDto,
  ): Promise<RowPage<TraceSummary>>;

  /** A page of the sessions, by the start of their last trace (`-last_started_at`); likewise. */
  abstract listSessions(
    scope: Scope,
    filters: SessionListFilters,
    query: ListQueryDto,
  ): Promise<RowPage<SessionSummary>>;

  /** A session that traces name. */
  abstract findSession(scope: Scope, sessionId: string): Promise<SessionSummary | undefined>;

  /**
   * A page of a trace's spans, by start (`sort` is `started_at` or `-started_at`), of which the first is always there.
   *
   * @param maxBytes that they may come to as they are answered; 32 MiB unless given
   */
  abstract listSpans(
    scope: Scope,
    traceId: string,
    query: ListQueryDto,
    maxBytes?: number,
  ): Promise<RowPage<SpanRow>>;

  /** A trace with what its root was given and answered, and its first spans; undefined where it is not there. */
  abstract findTree(scope: Scope, traceId: string, limits: TreeLimits): Promise<TraceTree | undefined>;

  /**
   * The spans of a trace by start, at most `limit` of them and as many as have names that come to `maxBytes`; those
   * among them whose content comes to no more, from the first on, with that content.
   */
  abstract readSpans(scope: Scope, traceId: string, limit: number, maxBytes: number): Promise<TraceSpan[]>;

  /** The traces of a session by start, at most `limit` of them; the first with content, up to `maxBytes` together. */
  abstract sessionTraces(
    scope: Scope,
    sessionId: string,
    limit: number,
    maxBytes: number,
  ): Promise<TraceRow[]>;

  /** The newest traces that meet all of a selection, at most `limit` of them. */
  abstract traceRefs(scope: Scope, selection: TraceSelection, limit: number): Promise<TraceRef[]>;

  /** The sessions with a trace that meets all of a selection, newest first by the last such trace. */
  abstract sessionRefs(scope: Scope, selection: TraceSelection, limit: number): Promise<SessionRef[]>;

  /** How many traces meet all of a selection. */
  abstract countSelectedTraces(scope: Scope, selection: TraceSelection): Promise<number>;

  /** How many sessions have a trace that meets all of a selection. */
  abstract countSelectedSessions(scope: Scope, selection: TraceSelection): Promise<number>;

  /** Figures over some traces, of at most 10,000 groups, and of as many as come to 32 MiB of JSON. */
  abstract stats(scope: Scope, query: TraceStatsQuery): Promise<TraceStats>;
}
