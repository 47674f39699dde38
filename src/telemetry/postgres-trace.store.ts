import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { type ListQueryDto, PAGE_SIZE_DEFAULT, type RowPage } from '#platform/paging';
import { storeProblem } from './exports/store-problem';
import type { SessionListFilters, SessionSummary, TraceListFilters } from './trace-list';
import type { TraceTree, TreeLimits } from './trace-tree';
import type { TraceStats, TraceStatsQuery } from './trace-stats';
import {
  type SessionRef,
  type SpanBatch,
  type SpanRow,
  type TraceRef,
  type TraceRow,
  type TraceSelection,
  type TraceSpan,
  TraceStore,
  type TraceSummary,
} from './trace-store';
import { SessionRepository } from './sessions/session.repository';
import { SpanRepository } from './traces/span.repository';
import { SpanTreeRepository } from './traces/span-tree.repository';
import { TraceRepository } from './traces/trace.repository';
import { TraceListRepository } from './traces/trace-list.repository';
import { TelemetryReading } from './telemetry-reading';
import { TraceStatsRepository } from './traces/trace-stats.repository';
import { TraceWriter } from './traces/trace.writer';

const UNWRITABLE = 'Traces cannot be stored at the moment. Try again.';

/** What to ask for instead, where a read takes too long. */
const HINTS = {
  ids: 'Ask for fewer of them at once, such as with a smaller limit.',
  trace: 'Read its spans page by page, with a smaller limit.',
  selection: 'Narrow the times (since, until) or the filters.',
  page: 'Narrow the times (since, until), or ask for fewer with a smaller limit.',
  again: 'Try again.',
};

/** What reads the tables on one connection. */
const readersOn = (on: SqlExecutor) => ({
  spans: new SpanRepository(on),
  traces: new TraceRepository(on),
  figures: new TraceStatsRepository(on),
  lists: new TraceListRepository(on),
  sessions: new SessionRepository(on),
  trees: new SpanTreeRepository(on),
});
type Readers = ReturnType<typeof readersOn>;

/** Keeps traces in the service's own database. */
@Injectable()
export class PostgresTraceStore extends TraceStore {
  private signal?: AbortSignal;

  constructor(
    private readonly writer: TraceWriter,
    private readonly reading: TelemetryReading,
  ) {
    super();
  }

  override heeding(signal: AbortSignal): TraceStore {
    const store = new PostgresTraceStore(this.writer, this.reading);
    store.signal = signal;
    return store;
  }

  override async append(batches: readonly SpanBatch[]): Promise<void> {
    try {
      await this.writer.write(batches);
    } catch (error) {
      throw storeProblem(error, UNWRITABLE);
    }
  }

  override findTraces(scope: Scope, traceIds: readonly string[], maxBytes: number): Promise<TraceRow[]> {
    return this.read(scope, HINTS.ids, ({ traces }) => traces.findMany(scope, traceIds, maxBytes));
  }

  override summarizeTraces(scope: Scope, traceIds: readonly string[]): Promise<TraceSummary[]> {
    return this.read(scope, HINTS.ids, ({ traces }) => traces.summarize(scope, traceIds));
  }

  override countTraces(scope: Scope, traceIds: readonly string[]): Promise<number> {
    return this.read(scope, HINTS.ids, ({ traces }) => traces.count(scope, traceIds));
  }

  override listTraces(
    scope: Scope,
    filters: TraceListFilters,
    query: ListQueryDto,
  ): Promise<RowPage<TraceSummary>> {
    return this.read(scope, HINTS.selection, ({ lists }) => lists.list(scope, filters, query));
  }

  override listSessions(
    scope: Scope,
    filters: SessionListFilters,
    query: ListQueryDto,
  ): Promise<RowPage<SessionSummary>> {
    return this.read(scope, HINTS.page, ({ sessions }) => sessions.list(scope, filters, query));
  }

  override findSession(scope: Scope, sessionId: string): Promise<SessionSummary | undefined> {
    return this.read(scope, HINTS.again, async ({ sessions }) => {
      const [session] = await sessions.totals(scope, [sessionId]);
      return session;
    });
  }

  override findTree(scope: Scope, traceId: string, limits: TreeLimits): Promise<TraceTree | undefined> {
    return this.read(scope, HINTS.trace, async ({ traces, trees }) => {
      const [trace] = await traces.findMany(scope, [traceId], limits.contentBytes);
      const place = await traces.findPlace(scope, traceId);
      if (!trace || !place) return undefined;
      return { trace, spans: await trees.first(scope, place, limits.spans, limits.nameBytes) };
    });
  }

  override listSpans(
    scope: Scope,
    traceId: string,
    query: ListQueryDto,
    maxBytes?: number,
  ): Promise<RowPage<SpanRow>> {
    return this.read(scope, HINTS.trace, async ({ spans, traces }) => {
      const trace = await traces.findPlace(scope, traceId);
      return trace ? spans.list(scope, trace, query, maxBytes) : emptyPage(query);
    });
  }

  override readSpans(scope: Scope, traceId: string, limit: number, maxBytes: number): Promise<TraceSpan[]> {
    return this.read(scope, HINTS.trace, async ({ spans, traces }) => {
      const trace = await traces.findPlace(scope, traceId);
      return trace ? spans.first(scope, trace, limit, maxBytes) : [];
    });
  }

  override sessionTraces(
    scope: Scope,
    sessionId: string,
    limit: number,
    maxBytes: number,
  ): Promise<TraceRow[]> {
    return this.read(scope, HINTS.again, ({ traces }) => traces.ofSession(scope, sessionId, limit, maxBytes));
  }

  override traceRefs(scope: Scope, selection: TraceSelection, limit: number): Promise<TraceRef[]> {
    return this.read(scope, HINTS.selection, ({ traces }) => traces.refs(scope, selection, limit));
  }

  override sessionRefs(scope: Scope, selection: TraceSelection, limit: number): Promise<SessionRef[]> {
    return this.read(scope, HINTS.selection, ({ traces }) => traces.sessionRefs(scope, selection, limit));
  }

  override countSelectedTraces(scope: Scope, selection: TraceSelection): Promise<number> {
    return this.read(scope, HINTS.selection, ({ traces }) =>
      traces.countSelected(scope, selection, 'trace_id'),
    );
  }

  override countSelectedSessions(scope: Scope, selection: TraceSelection): Promise<number> {
    return this.read(scope, HINTS.selection, ({ traces }) =>
      traces.countSelected(scope, selection, 'session_id'),
    );
  }

  override stats(scope: Scope, query: TraceStatsQuery): Promise<TraceStats> {
    return this.read(scope, HINTS.selection, ({ figures }) => figures.stats(scope, query));
  }

  private read<Result>(
    scope: Scope,
    hint: string,
    work: (readers: Readers) => Promise<Result>,
  ): Promise<Result> {
    return this.reading.read(scope, hint, (on) => work(readersOn(on)), { signal: this.signal });
  }
}

/** Of a trace that is not there. */
const emptyPage = ({ limit = PAGE_SIZE_DEFAULT, offset = 0 }: ListQueryDto): RowPage<never> => ({
  rows: [],
  page: { limit, offset, total: 0, next_cursor: null },
});
