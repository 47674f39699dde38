import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import type { SessionSummary } from '../trace-list';
import { TraceStore } from '../trace-store';
import type { TraceDto } from '../traces/trace.dto';
import { toTraceDto } from '../traces/trace.mapper';
import { toTimes } from '../lists/timed-query.dto';
import type { StartedListQueryDto } from '../traces/trace-query.dto';
import type { SessionDto, SessionListQueryDto } from './session.dto';

/** Sessions, which are what traces tell of them. Errors: 404 for one that no trace names, 503 as for traces. */
@Injectable()
export class SessionService {
  constructor(private readonly store: TraceStore) {}

  async list(scope: Scope, query: SessionListQueryDto, signal: AbortSignal): Promise<Page<SessionDto>> {
    const { rows, page } = await this.store.heeding(signal).listSessions(scope, toTimes(query), query);
    return { items: rows.map(toSessionDto), page };
  }

  async get(scope: Scope, sessionId: string, signal: AbortSignal): Promise<SessionDto> {
    const session = await this.store.heeding(signal).findSession(scope, sessionId);
    if (!session) throw problem.notFound('session', sessionId);
    return toSessionDto(session);
  }

  async listTraces(
    scope: Scope,
    sessionId: string,
    query: StartedListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<TraceDto>> {
    const found = await this.tracesOf(scope, sessionId, query, signal);
    if (found.page.total === 0) await this.get(scope, sessionId, signal); // it may have traces at other times
    return found;
  }

  /** The same of a session that is there whether or not a trace names it. */
  async tracesOf(
    scope: Scope,
    sessionId: string,
    query: StartedListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<TraceDto>> {
    const filters = { session_id: sessionId, ...toTimes(query) };
    const { rows, page } = await this.store.heeding(signal).listTraces(scope, filters, query);
    return { items: rows.map(toTraceDto), page };
  }
}

const toSessionDto = (session: SessionSummary): SessionDto => ({
  session_id: session.session_id,
  first_started_at: session.first_started_at,
  last_started_at: session.last_started_at,
  trace_count: session.trace_count,
  span_count: session.span_count,
  error_count: session.error_count,
  input_tokens: session.input_tokens,
  output_tokens: session.output_tokens,
  cost_usd: session.cost_usd,
  models: session.models,
  service_names: session.service_names,
  is_truncated: session.is_truncated,
});
