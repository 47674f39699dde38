import { Injectable } from '@nestjs/common';
import type { OtlpSpan } from '#otlp';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database } from '#platform/db';
import type { ListQueryDto, RowPage } from '#platform/paging';
import { Problem, problem, problemOfDatabaseError } from '#platform/problem';
import { ModelPrices } from './model-prices';
import type { TraceStats, TraceStatsQuery } from './trace-stats';
import {
  type SessionRef,
  type SpanRow,
  type TraceRef,
  type TraceRow,
  type TraceSelection,
  type TraceSpan,
  TraceStore,
  type TraceSummary,
} from './trace-store';
import { SpanRepository } from './traces/span.repository';
import { sourcesOf, toSpanRecords } from './traces/span-record';
import { TraceRepository } from './traces/trace.repository';
import { TraceStatsRepository } from './traces/trace-stats.repository';
import { aggregateTraces } from './traces/trace-aggregate';

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
    private readonly database: Database,
    private readonly spans: SpanRepository,
    private readonly traces: TraceRepository,
    private readonly figures: TraceStatsRepository,
    private readonly prices: ModelPrices,
    environment: Environment,
  ) {
    super();
    this.readTimeoutMs = environment.REQUEST_TIMEOUT_MS * READ_SHARE;
  }

  /**
   * One transaction: the spans that are new, then what exactly those add to their traces. All writers lock spans,
   * then traces, then sources, each in the order of their keys, so they cannot block one another in a circle.
   */
  override async append(scope: Scope, spans: readonly OtlpSpan[]): Promise<void> {
    if (spans.length === 0) return;
    const records = toSpanRecords(spans, this.prices.table);
    try {
      await this.database.transaction(async (tx) => {
        const inserted = await this.spans.insertMany(tx, scope, records);
        await this.traces.merge(tx, scope, aggregateTraces(inserted));
        await this.traces.insertSources(tx, scope, sourcesOf(inserted));
      });
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
      const [trace] = await this.traces.summarize(scope, [traceId]);
      return this.spans.list(scope, traceId, query, trace?.span_count ?? 0);
    });
  }

  override readSpans(scope: Scope, traceId: string, limit: number, maxBytes: number): Promise<TraceSpan[]> {
    return this.read(() => this.spans.first(scope, traceId, limit, maxBytes));
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

/** An error of the database as one of the store: unreachable or too slow is 503, whatever else stays as it is. */
function storeProblem(error: unknown, detail: string): unknown {
  const found = error instanceof Problem ? error : problemOfDatabaseError(error);
  const isOutage = found?.code === 'service_unavailable' || found?.code === 'request_timeout';
  return isOutage ? problem.unavailable(detail, { headers: RETRY, cause: error }) : error;
}
