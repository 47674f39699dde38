import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { SessionDirectory } from '../../agents';
import { TraceStore } from '../../telemetry';
import { SelectionRepository } from './selection.repository';

/**
 * Which traces and sessions there are: those of the trace store, those that results name, whose spans may never have
 * come, and the sessions of agents. Errors: 503 when traces cannot be read.
 */
@Injectable()
export class KnownTargets {
  constructor(
    private readonly traceStore: TraceStore,
    private readonly agents: SessionDirectory,
    private readonly results: SelectionRepository,
  ) {}

  /** Those of these traces that are known. */
  async traces(scope: Scope, ids: string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const stored = await this.traceStore.traceRefs(scope, { trace_ids: ids }, ids.length);
    const known = new Set(stored.map((trace) => trace.trace_id));
    const rest = ids.filter((id) => !known.has(id));
    for (const { trace_id } of await this.results.newestOfTraces(scope, rest)) known.add(trace_id!);
    return known;
  }

  /** Those of these sessions that are known. */
  async sessions(scope: Scope, ids: string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const stored = await this.traceStore.sessionRefs(scope, { session_ids: ids }, ids.length);
    const ofAgents = await this.agents.lastMessages(scope, ids);
    const known = new Set([...stored.map((session) => session.session_id), ...ofAgents.keys()]);
    const rest = ids.filter((id) => !known.has(id));
    for (const { session_id } of await this.results.newestOfSessions(scope, rest)) known.add(session_id!);
    return known;
  }
}
