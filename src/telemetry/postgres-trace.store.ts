import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { type ListQueryDto, PAGE_SIZE_DEFAULT, type RowPage } from '#platform/paging';
import { Problem, problem, problemOfDatabaseError } from '#platform/problem';
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
import { SpanRepository } from './traces/span.repository';
import { TraceRepository } from './traces/trace.repository';
import { TraceStatsRepository } from './traces/trace-stats.repository';
import { TraceWriter } from './traces/trace.writer';

/**
 * How much of a request's time a read may take. Less than all of it, so that a store that does not answer is told as
 * that (503), before the request as a whole is given up (504).
 */
const READ_SHARE = 0.8;

const UNREADABLE = 'Traces cannot be read at the moment. Try again.';
const UNWRITABLE = 'Traces cannot be stored at the moment. Try again.';
const RETRY = { 'Retry-After': '1' };

/** Keeps traces in the service's own database. */
@Injectable()
export class PostgresTraceStore extends TraceStore {
  private readonly readTimeoutMs: number;

  constructor(
    private readonly writer: TraceWriter,
    private readonly spans: SpanRepository,
    private readonly traces: TraceRepository,
    private readonly figures: TraceStatsRepository,
    environment: Environment,
  ) {
    super();
    this.readTimeoutMs = environment.REQUEST_TIMEOUT_MS * READ_SHARE;
  }

  override async append(batches: readonly SpanBatch[]): Promise<void> {
    try {
      await this.writer.write(batches);
    } catch (error) {
      throw storeProblem(error, UNWRITABLE);
    }
  }

  override findTraces(scope: Scope, traceIds: readonly string[], maxBytes: number): Promise<TraceRow[]> {
    return this.read(() => this.traces.findMany(scope, traceIds, maxBytes));
  }

  override summarizeTraces(scope: Scope, traceIds: readonly string[]): Promise<TraceSummary[]> {
    return this.read(() => this.traces.summarize(scope, traceIds));
  }

  override countTraces(scope: Scope, traceIds: readonly string[]): Promise<number> {
    return this.read(() => this.traces.count(scope, traceIds));
  }

  override listSpans(scope: Scope, traceId: string, query: ListQueryDto): Promise<RowPage<SpanRow>> {
    return this.read(async () => {
      const trace = await this.traces.findPlace(scope, traceId);
      return trace ? this.spans.list(scope, trace, query) : emptyPage(query);
    });
  }

  override readSpans(scope: Scope, traceId: string, limit: number, maxBytes: number): Promise<TraceSpan[]> {
    return this.read(async () => {
      const trace = await this.traces.findPlace(scope, traceId);
      return trace ? this.spans.first(scope, trace, limit, maxBytes) : [];
    });
  }

  override sessionTraces(
    scope: Scope,
    sessionId: string,
    limit: number,
    maxBytes: number,
  ): Promise<TraceRow[]> {
    return this.read(() => this.traces.ofSession(scope, sessionId, limit, maxBytes));
  }

  override traceRefs(scope: Scope, selection: TraceSelection, limit: number): Promise<TraceRef[]> {
    return this.read(() => this.traces.refs(scope, selection, limit));
  }

  override sessionRefs(scope: Scope, selection: TraceSelection, limit: number): Promise<SessionRef[]> {
    return this.read(() => this.traces.sessionRefs(scope, selection, limit));
  }

  override countSelectedTraces(scope: Scope, selection: TraceSelection): Promise<number> {
    return this.read(() => this.traces.countSelected(scope, selection, 'trace_id'));
  }

  override countSelectedSessions(scope: Scope, selection: TraceSelection): Promise<number> {
    return this.read(() => this.traces.countSelected(scope, selection, 'session_id'));
  }

  override stats(scope: Scope, query: TraceStatsQuery): Promise<TraceStats> {
    return this.read(() => this.figures.stats(scope, query));
  }

  /** Gives a read its time. What runs on afterwards is ended by the statement timeout of the connection. */
  private async read<Result>(work: () => Promise<Result>): Promise<Result> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(problem.unavailable(UNREADABLE, { headers: RETRY })),
        this.readTimeoutMs,
      );
    });
    try {
      return await Promise.race([work(), late]);
    } catch (error) {
      throw storeProblem(error, UNREADABLE);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Of a trace that is not there. */
const emptyPage = ({ limit = PAGE_SIZE_DEFAULT, offset = 0 }: ListQueryDto): RowPage<never> => ({
  rows: [],
  page: { limit, offset, total: 0, next_cursor: null },
});

/** An error of the database as one of the store: unreachable or too slow is 503, whatever else stays as it is. */
function storeProblem(error: unknown, detail: string): unknown {
  const found = error instanceof Problem ? error : problemOfDatabaseError(error);
  const isOutage = found?.code === 'service_unavailable' || found?.code === 'request_timeout';
  return isOutage ? problem.unavailable(detail, { headers: RETRY, cause: error }) : error;
}
