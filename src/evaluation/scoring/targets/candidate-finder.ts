import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { SessionDirectory } from '../../../agents';
import { type TraceSelection, TraceStore } from '../../../telemetry';
import { ResultReferenceRepository, type Times } from '../../scores';
import type { ScannedRange, TargetRef } from '../score-runs/score-run.entity';
import {
  AgentSessions,
  type Candidates,
  ListedCandidates,
  type Selection,
  StoredCandidates,
} from './candidates';
import { ResultCandidates } from './result-candidates';
import { chunks, isWithin, storedTraces } from './stored-traces';

/** Maximum number of agents' sessions that are listed by id. If the agents have more, their sessions are read in pages. */
const AGENT_SESSIONS_LISTED = 1_000;

/** A candidate and its sort time. */
interface DatedCandidate extends TargetRef {
  at: Date;
}

type Conditions = Times & Pick<Selection, 'filters'>;

/** Finds the traces, sessions or results that match a selection. */
@Injectable()
export class CandidateFinder {
  constructor(
    private readonly traces: TraceStore,
    private readonly agents: SessionDirectory,
    private readonly results: ResultReferenceRepository,
  ) {}

  /**
   * Returns the candidates of a selection, newest first: the results of its experiment or, without an experiment, traces or
   * sessions from the trace store, results and agents.
   *
   * @param signal stops reading pages when it is aborted
   * @param scannedRanges ranges of results that come last
   */
  async find(
    scope: Scope,
    selection: Selection,
    signal: AbortSignal,
    scannedRanges: readonly ScannedRange[] = [],
  ): Promise<Candidates> {
    const traces = this.traces.withSignal(signal);
    const { agentIds, experimentId, grain, traceIds, since, until, filters } = selection;
    if (experimentId !== undefined) {
      const experimentSelection = { ...selection, experimentId };
      return new ResultCandidates(
        traces,
        this.agents,
        this.results,
        scope,
        experimentSelection,
        scannedRanges,
      );
    }
    const sessions = await this.selectedSessions(scope, selection);
    if (agentIds && !sessions) {
      return new AgentSessions(traces, this.agents, scope, { agentIds, since, until, filters });
    }
    const conditions = { since, until, filters };
    const fromStore = (ids: Pick<TraceSelection, 'session_ids' | 'trace_ids'>): Candidates =>
      new StoredCandidates(traces, scope, grain, { ...conditions, ...ids });
    if (grain === 'trace') {
      return traceIds
        ? this.listTraces(scope, traceIds, sessions, conditions)
        : fromStore({ session_ids: sessions });
    }
    return sessions
      ? this.listSessions(scope, sessions, traceIds, conditions)
      : fromStore({ trace_ids: traceIds });
  }

  /**
   * Returns the sessions selected by id or by agent. Returns undefined if neither is selected, or if the agents have too many
   * sessions to list and no other selector narrows them.
   */
  private async selectedSessions(
    scope: Scope,
    { sessionIds, agentIds, traceIds }: Selection,
  ): Promise<string[] | undefined> {
    if (!agentIds) return sessionIds;
    const narrowed = intersection(sessionIds, traceIds && (await this.sessionsOfTraces(scope, traceIds)));
    if (narrowed) return this.agents.filterByAgents(scope, agentIds, narrowed);
    const some = await this.agents.someSessions(scope, agentIds, AGENT_SESSIONS_LISTED + 1);
    return some.length <= AGENT_SESSIONS_LISTED ? some : undefined;
  }

  /** Returns the sessions of traces, from the trace store and from the results that name both. */
  private async sessionsOfTraces(scope: Scope, traceIds: string[]): Promise<string[]> {
    const stored = await storedTraces(this.traces, scope, traceIds);
    const named = await this.results.sessionsReferencedWith(scope, traceIds);
    return [...new Set([...[...stored.values()].flatMap((trace) => trace.session_id ?? []), ...named])];
  }

  /**
   * Lists the traces that match. If the store lacks a trace or its session, uses the results that name the trace. Only stored
   * traces can meet filters.
   */
  private async listTraces(
    scope: Scope,
    ids: string[],
    sessionIds: string[] | undefined,
    { filters, ...times }: Conditions,
  ): Promise<ListedCandidates> {
    const sessions = sessionIds && new Set(sessionIds);
    const stored = await storedTraces(this.traces, scope, ids, filters);
    const candidates: DatedCandidate[] = [];
    const withoutSession: string[] = [];
    for (const { trace_id, session_id, started_at } of stored.values()) {
      if (!isWithin(started_at, times)) continue;
      if (sessions && session_id === null) withoutSession.push(trace_id);
      else if (!sessions || sessions.has(session_id!))
        candidates.push({ trace_id, session_id, at: started_at });
    }
    const unknown = filters ? [] : ids.filter((id) => !stored.has(id));
    const naming = [
      ...(await this.results.newestOfTraces(scope, unknown, { sessionIds, ...times })),
      ...(await this.results.newestOfTraces(scope, withoutSession, { sessionIds })),
    ];
    for (const { trace_id, session_id, created_at } of naming) {
      candidates.push({ trace_id, session_id, at: stored.get(trace_id!)?.started_at ?? created_at });
    }
    return newestFirst(candidates);
  }

  /**
   * Lists the sessions that match by one of their stored traces or, for an agent's session, by the last message. If neither
   * is stored, uses the results that name the session. Only stored traces can meet filters.
   */
  private async listSessions(
    scope: Scope,
    ids: string[],
    traceIds: string[] | undefined,
    { filters, ...times }: Conditions,
  ): Promise<ListedCandidates> {
    const newest = new Map<string, Date>();
    const add = (session: string, at: Date): void => {
      if (isWithin(at, times) && !((newest.get(session) ?? 0) >= at)) newest.set(session, at);
    };
    const unknown = new Set(ids);
    for (const session_ids of chunks(ids)) {
      const limit = session_ids.length;
      const refs = await this.traces.sessionRefs(scope, { session_ids }, limit);
      for (const { session_id } of refs) unknown.delete(session_id);
      const isNarrowed = times.since ?? times.until ?? traceIds ?? filters;
      const narrowed = { session_ids, trace_ids: traceIds, filters, ...times };
      const matching = isNarrowed ? await this.traces.sessionRefs(scope, narrowed, limit) : refs;
      for (const { session_id, last_started_at } of matching) add(session_id, last_started_at);
      if (traceIds ?? filters) continue;
      for (const [session_id, at] of await this.agents.lastMessages(scope, session_ids)) {
        unknown.delete(session_id);
        add(session_id, at);
      }
    }
    if (traceIds) {
      // The start of a stored trace counts, because its result may have been written much later.
      const stored = await storedTraces(this.traces, scope, traceIds, filters);
      for (const { session_id, trace_id, last_at } of await this.results.pairsOf(
        scope,
        ids,
        traceIds,
        times,
      )) {
        const at = stored.get(trace_id)?.started_at ?? (filters ? null : last_at);
        if (at) add(session_id, at);
      }
    } else if (!filters) {
      const naming = await this.results.newestOfSessions(scope, [...unknown], times);
      for (const { session_id, created_at } of naming) add(session_id!, created_at);
    }
    return newestFirst([...newest].map(([session_id, at]) => ({ trace_id: null, session_id, at })));
  }
}

const newestFirst = (candidates: DatedCandidate[]): ListedCandidates =>
  new ListedCandidates(candidates.sort((a, b) => b.at.getTime() - a.at.getTime()));

/** Returns the ids in both lists. If one list is undefined, returns the other. */
function intersection(one: string[] | undefined, other: string[] | undefined): string[] | undefined {
  if (!one || !other) return one ?? (other && [...new Set(other)]);
  const both = new Set(other);
  return one.filter((id) => both.has(id));
}
