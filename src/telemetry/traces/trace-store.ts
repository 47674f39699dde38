import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { type ListQueryDto, PAGE_SIZE_DEFAULT, type RowPage } from '#platform/paging';
import { ReadLimiter } from '../read-limiter';
import { ModelPrices } from '../span-mapping/model-prices';
import { MessageLogRepository } from './message-log.repository';
import { tracesWithoutMessages, withContent, withLoggedContent } from './span-content';
import type { SpanRow } from './span.dto';
import { SpanRepository } from './span.repository';
import { TraceListRepository } from './trace-list.repository';
import type { TraceStats, TraceStatsQuery } from './trace-stats.types';
import { TraceStatsRepository } from './trace-stats.repository';
import { TraceRepository } from './trace.repository';
import { type TraceScore, TraceScores } from './trace-scores';
import type { TraceRow, TraceSummary, TraceTree, TraceUsage } from './trace.dto';
import type { TraceListQueryDto } from './trace-query.dto';
import type {
  LocatedTrace,
  SessionPosition,
  SessionRef,
  SpanReading,
  TracePosition,
  TraceRef,
  TraceSelection,
  TraceBatch,
  BatchLimits,
  TraceSpan,
  TreeLimits,
  BatchRequest,
} from './trace.types';

/** Hints for reads that take too long. */
const HINTS = {
  ids: 'Ask for fewer traces at once, for example with a smaller limit.',
  trace: 'Read its spans page by page, with a smaller limit.',
  selection: 'Narrow the times (since, until) or the filters.',
  again: 'Try again.',
};

const repositoriesOn = (on: SqlExecutor, scores: TraceScores, prices: ModelPrices) => ({
  on,
  logs: new MessageLogRepository(on),
  spans: new SpanRepository(on),
  traces: new TraceRepository(on),
  stats: new TraceStatsRepository(on, prices),
  lists: new TraceListRepository(on, scores),
});
type Repositories = ReturnType<typeof repositoriesOn>;

/**
 * Reads traces and their spans from PostgreSQL, for this area and the areas above it. Every method reads only the workspace of
 * the scope. Callers pass ids and filters, never SQL.
 *
 * Errors of every method: 503 `service_unavailable` if the database cannot be reached or does not respond in time.
 */
@Injectable()
export class TraceStore {
  private signal?: AbortSignal;

  constructor(
    private readonly limiter: ReadLimiter,
    private readonly scores: TraceScores,
    private readonly prices: ModelPrices,
  ) {}

  /**
   * Returns a store whose reads fail with the signal's reason as soon as the signal is aborted. A read that waits for its turn
   * then never starts.
   */
  withSignal(signal: AbortSignal): TraceStore {
    const store = new TraceStore(this.limiter, this.scores, this.prices);
    store.signal = signal;
    return store;
  }

  /**
   * Locks traces against deletion until the caller's transaction ends, so that what is made from them is not stored after they
   * were erased. Returns the ids of those that exist.
   */
  lockTraces(tx: Tx, scope: Scope, traceIds: readonly string[]): Promise<Set<string>> {
    return new TraceRepository(tx).lock(scope, traceIds);
  }

  /** Returns the traces that exist, with their sessions. */
  findExisting(scope: Scope, traceIds: readonly string[]): Promise<Map<string, string | null>> {
    return this.read(scope, HINTS.ids, ({ traces }) => traces.findExisting(scope, traceIds));
  }

  /** Reads existing traces in no particular order, without input and output if they exceed `maxBytes`. */
  findTraces(scope: Scope, traceIds: readonly string[], maxBytes: number): Promise<TraceRow[]> {
    return this.read(scope, HINTS.ids, ({ traces }) => traces.findMany(scope, traceIds, maxBytes));
  }

  /** Reads existing traces without input and output, which may be large. */
  summarizeTraces(scope: Scope, traceIds: readonly string[]): Promise<TraceSummary[]> {
    return this.read(scope, HINTS.ids, ({ traces }) => traces.summarize(scope, traceIds));
  }

  /** Reads the tokens and costs of existing traces. Null where they are not known. */
  readUsage(scope: Scope, traceIds: readonly string[]): Promise<TraceUsage[]> {
    return this.read(scope, HINTS.ids, ({ traces }) => traces.usage(scope, traceIds));
  }

  /** Counts the existing traces among distinct ids. */
  countTraces(scope: Scope, traceIds: readonly string[]): Promise<number> {
    return this.read(scope, HINTS.ids, ({ traces }) => traces.count(scope, traceIds));
  }

  /**
   * Reads a page of the traces that meet all filters, in the order of `sort`. If no index serves a filter, a page may end early
   * and the total may be null. Only `next_cursor` tells whether there are more traces.
   */
  listTraces(scope: Scope, query: TraceListQueryDto): Promise<RowPage<TraceSummary>> {
    return this.read(scope, HINTS.selection, ({ lists }) => lists.list(scope, query));
  }

  /** Reads a page as `listTraces` does, and the scores of its traces. */
  listScoredTraces(
    scope: Scope,
    query: TraceListQueryDto,
  ): Promise<RowPage<TraceSummary> & { scores: Map<string, TraceScore[]> }> {
    return this.read(scope, HINTS.selection, async ({ lists, on }) => {
      const { rows, page } = await lists.list(scope, query);
      const ids = rows.map(({ trace_id }) => trace_id);
      const scores =
        ids.length > 0 ? await this.scores.findByTraces(on, scope, ids) : new Map<string, TraceScore[]>();
      return { rows, page, scores };
    });
  }

  /** Reads a trace with its scores, input, output and first spans; undefined for an unknown trace. */
  findTree(scope: Scope, traceId: string, limits: TreeLimits): Promise<TraceTree | undefined> {
    return this.read(scope, HINTS.trace, async ({ traces, spans, on }) => {
      const [trace] = await traces.findMany(scope, [traceId], limits.contentBytes);
      const location = await traces.findLocation(scope, traceId);
      if (!trace || !location) return undefined;
      const scores = await this.scores.findByTraces(on, scope, [traceId]);
      return {
        trace,
        scores: scores.get(traceId) ?? [],
        spans: await spans.firstHeads(scope, location, limits.spans, limits.nameBytes),
      };
    });
  }

  /**
   * Reads a page of a trace's spans, by start (`sort` is `started_at` or `-started_at`).
   *
   * @param maxBytes size limit of the page as JSON, defaults to 4 MiB; a single span may exceed it
   */
  listSpans(
    scope: Scope,
    traceId: string,
    query: ListQueryDto,
    maxBytes?: number,
  ): Promise<RowPage<SpanRow>> {
    return this.read(scope, HINTS.trace, async ({ spans, traces }) => {
      const trace = await traces.findLocation(scope, traceId);
      return trace ? spans.list(scope, trace, query, maxBytes) : emptyPage(query);
    });
  }

  /**
   * Reads spans of existing traces: trace by trace, each by start, with names of up to `maxBytes` in total. The first spans
   * include content of up to `maxBytes` in total, with input and output, which may come from log records.
   */
  readSpans(scope: Scope, traceIds: readonly string[], reading: SpanReading): Promise<TraceSpan[]> {
    return this.read(scope, HINTS.trace, async ({ logs, spans, traces }) => {
      const located = await traces.findLocations(scope, traceIds);
      return (await spansOf({ logs, spans }, scope, located, reading)).spans;
    });
  }

  /**
   * Reads several traces and the first traces of several sessions at once. The smallest traces include their content. Omits
   * content, sessions and spans that exceed the limits. Most traces and sessions are small enough.
   */
  readBatch(scope: Scope, request: BatchRequest, limits: BatchLimits): Promise<TraceBatch> {
    return this.read(scope, HINTS.ids, async ({ logs, spans, traces }) => {
      const { traceIds, sessionsOf, withSpansOfSessions } = request;
      const rows = traceIds.length > 0 ? await traces.findBatch(scope, traceIds, limits.maxBytes) : [];
      const sessionIds = [...new Set(sessionsOf(rows))];
      const sessions = await completeSessions(traces, scope, sessionIds, limits);
      const sessionRows = withSpansOfSessions ? [...sessions.values()].flat() : [];
      const ids = [...new Set([...rows, ...sessionRows].map(({ trace_id }) => trace_id))];
      return {
        traces: rows,
        sessions,
        spans: await completeSpans({ logs, spans, traces }, scope, ids, limits),
      };
    });
  }

  /** Reads the first traces of a session, by start. The first ones include content, up to `maxBytes` in total. */
  sessionTraces(scope: Scope, sessionId: string, limit: number, maxBytes: number): Promise<TraceRow[]> {
    return this.read(scope, HINTS.again, ({ traces }) =>
      traces.findBySessions(scope, [sessionId], limit, maxBytes),
    );
  }

  /** Reads the newest traces of a selection, starting after a position. */
  traceRefs(
    scope: Scope,
    selection: TraceSelection,
    limit: number,
    after?: TracePosition,
  ): Promise<TraceRef[]> {
    return this.read(scope, HINTS.selection, ({ traces }) => traces.refs(scope, selection, limit, after));
  }

  /** Reads the sessions with a trace in a selection, newest first by their last such trace, starting after a position. */
  sessionRefs(
    scope: Scope,
    selection: TraceSelection,
    limit: number,
    after?: SessionPosition,
  ): Promise<SessionRef[]> {
    return this.read(scope, HINTS.selection, ({ traces }) =>
      traces.sessionRefs(scope, selection, limit, after),
    );
  }

  /** Counts the traces of a selection. */
  countSelectedTraces(scope: Scope, selection: TraceSelection): Promise<number> {
    return this.read(scope, HINTS.selection, ({ traces }) =>
      traces.countSelected(scope, selection, 'trace_id'),
    );
  }

  /** Counts the sessions with a trace in a selection. */
  countSelectedSessions(scope: Scope, selection: TraceSelection): Promise<number> {
    return this.read(scope, HINTS.selection, ({ traces }) =>
      traces.countSelected(scope, selection, 'session_id'),
    );
  }

  /** Computes statistics over traces or their spans. Limits: 10,000 groups, and 32 MiB of JSON. */
  stats(scope: Scope, query: TraceStatsQuery): Promise<TraceStats> {
    return this.read(scope, HINTS.selection, ({ stats }) => stats.stats(scope, query));
  }

  private read<Result>(
    scope: Scope,
    hint: string,
    work: (repositories: Repositories) => Promise<Result>,
  ): Promise<Result> {
    return this.limiter.read(scope, hint, (on) => work(repositoriesOn(on, this.scores, this.prices)), {
      signal: this.signal,
    });
  }
}

/** Reads the traces of sessions. Omits sessions that cannot be read completely. */
async function completeSessions(
  traces: TraceRepository,
  scope: Scope,
  sessionIds: readonly string[],
  { sessionTraces, bytes }: BatchLimits,
): Promise<Map<string, TraceRow[]>> {
  const bySession = new Map(sessionIds.map((id) => [id, [] as TraceRow[]]));
  if (sessionIds.length === 0) return bySession;
  for (const trace of await traces.findBySessions(scope, sessionIds, sessionTraces + 1, bytes)) {
    bySession.get(trace.session_id!)!.push(trace);
  }
  const isComplete = (trace: TraceRow): boolean =>
    trace.content_size === 0 || trace.input !== null || trace.output !== null;
  for (const [id, rows] of bySession) {
    if (rows.length > sessionTraces || !rows.every(isComplete)) bySession.delete(id);
  }
  return bySession;
}

/** Reads the spans of traces. Omits traces whose spans, or log records about them, cannot be read completely. */
async function completeSpans(
  { logs, spans, traces }: Pick<Repositories, 'logs' | 'spans' | 'traces'>,
  scope: Scope,
  traceIds: readonly string[],
  limits: BatchLimits,
): Promise<Map<string, TraceSpan[]>> {
  const located = traceIds.length > 0 ? await traces.findLocations(scope, traceIds) : [];
  let left = limits.spans;
  const selected = located.filter(({ span_count }) => span_count <= left && (left -= span_count) >= 0);
  const reading = { limit: limits.spans, maxBytes: limits.bytes };
  const read = await spansOf({ logs, spans }, scope, selected, reading);
  const byTrace = new Map(selected.map(({ trace_id }) => [trace_id, [] as TraceSpan[]]));
  for (const span of read.spans) byTrace.get(span.trace_id)!.push(span);
  for (const { trace_id, span_count } of selected) {
    const own = byTrace.get(trace_id)!;
    const isComplete = own.length === span_count && own.every(({ attributes }) => attributes !== null);
    if (!isComplete || read.incomplete.has(trace_id)) byTrace.delete(trace_id);
  }
  return byTrace;
}

/** Reads spans of traces, with content. Also returns the ids of traces whose log records were not all read. */
async function spansOf(
  repositories: Pick<Repositories, 'logs' | 'spans'>,
  scope: Scope,
  traces: readonly LocatedTrace[],
  reading: SpanReading,
): Promise<{ spans: TraceSpan[]; incomplete: ReadonlySet<string> }> {
  if (traces.length === 0) return { spans: [], incomplete: new Set() };
  const spans = await withContent(await repositories.spans.findByTraces(scope, traces, reading));
  const lacking = tracesWithoutMessages(spans, traces);
  if (lacking.length === 0) return { spans, incomplete: new Set() };
  const { events, isComplete } = await repositories.logs.findByTraces(scope, lacking, reading.maxBytes);
  const incomplete = new Set(isComplete ? [] : lacking.map(({ trace_id }) => trace_id));
  return { spans: withLoggedContent(spans, events), incomplete };
}

/** Returns the page of an unknown trace. */
const emptyPage = ({ limit = PAGE_SIZE_DEFAULT, offset = 0 }: ListQueryDto): RowPage<never> => ({
  rows: [],
  page: { limit, offset, total: 0, next_cursor: null },
});
