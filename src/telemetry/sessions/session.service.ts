import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Page } from '#platform/paging';
import { orNotFound } from '#platform/problem';
import { ReadLimiter } from '../read-limiter';
import { TraceStore } from '../traces/trace-store';
import { type ScoredTraceDto, toScoredTraceDto } from '../traces/trace.dto';
import type { SessionTraceListQueryDto } from '../traces/trace-query.dto';
import type { SessionDto, SessionListQueryDto } from './session.dto';
import { SessionRepository } from './session.repository';

/** Reads sessions from their traces. Errors: 404 for a session that no trace names; 503 if reading takes too long. */
@Injectable()
export class SessionService {
  constructor(
    private readonly limiter: ReadLimiter,
    private readonly store: TraceStore,
  ) {}

  async list(scope: Scope, query: SessionListQueryDto, signal: AbortSignal): Promise<Page<SessionDto>> {
    const { rows, page } = await this.limiter.read(
      scope,
      'Narrow the times (since, until), or use a smaller limit.',
      (on) => new SessionRepository(on).list(scope, query),
      { signal },
    );
    return { items: rows, page };
  }

  async get(scope: Scope, sessionId: string, signal: AbortSignal): Promise<SessionDto> {
    const [session] = await this.limiter.read(
      scope,
      'Try again.',
      (on) => new SessionRepository(on).totals(scope, [sessionId]),
      { signal },
    );
    return orNotFound(session, 'session', sessionId);
  }

  async listTraces(
    scope: Scope,
    sessionId: string,
    query: SessionTraceListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<ScoredTraceDto>> {
    const traces = await this.tracesOf(scope, sessionId, query, signal);
    if (traces.items.length === 0) await this.get(scope, sessionId, signal); // 404, unless it has traces at other times
    return traces;
  }

  /** Lists the traces of a session. The list may be empty, because a session of an agent exists without traces. */
  async tracesOf(
    scope: Scope,
    sessionId: string,
    query: SessionTraceListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<ScoredTraceDto>> {
    const store = this.store.withSignal(signal);
    const { rows, page, scores } = await store.listScoredTraces(scope, { ...query, session_id: sessionId });
    return { items: rows.map((trace) => toScoredTraceDto(trace, scores.get(trace.trace_id))), page };
  }
}
