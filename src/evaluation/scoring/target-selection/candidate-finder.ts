import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { SessionDirectory } from '../../../agents';
import { type TraceRef, type TraceSelection, TraceStore } from '../../../telemetry';
import {
  type ReferencedPair,
  type ReferencingResult,
  ResultReferenceRepository,
  type Times,
} from '../../experiments';
import type { TargetRef } from '../runs/score-run.entity';
import {
  AgentSessions,
  type Candidates,
  ListedCandidates,
  type Selection,
  StoredCandidates,
} from './candidates';

/** Sessions of agents that are listed by id, at most. If the agents have more, their sessions are read in pages. */
const AGENT_SESSIONS_LISTED = 1_000;
/** Ids per lookup. */
const CHUNK = 1_000;

/** Finds the results that name traces and sessions. */
export type ResultLookup = Pick<
  ResultReferenceRepository,
  'newestOfTraces' | 'newestOfSessions' | 'pairsOf' | 'sessionsReferencedWith'
>;

/** The results of one experiment, newest first, in memory. Answers the same lookups as the repository of all results. */
export class ExperimentResults implements ResultLookup {
  constructor(readonly all: readonly ReferencingResult[]) {}

  newestOfTraces(
    _scope: Scope,
    traceIds: readonly string[],
    { sessionIds, ...times }: Times & { sessionIds?: readonly string[] | undefined } = {},
  ): Promise<ReferencingResult[]> {
    const sessions = sessionIds && new Set(sessionIds);
    const results = sessions ? this.all.filter((one) => sessions.has(one.session_id!)) : this.all;
    return Promise.resolve(newestOf('trace_id', results, traceIds, times));
  }

  newestOfSessions(
    _scope: Scope,
    sessionIds: readonly string[],
    times: Times = {},
  ): Promise<ReferencingResult[]> {
    return Promise.resolve(newestOf('session_id', this.all, sessionIds, times));
  }

  /** Returns the pair of each result, so the same pair may occur several times. */
  pairsOf(
    _scope: Scope,
    sessionIds: readonly string[],
    traceIds: readonly string[],
    times: Times,
  ): Promise<ReferencedPair[]> {
    const [sessions, traces] = [new Set(sessionIds), new Set(traceIds)];
    const pairs = this.all.flatMap(({ session_id, trace_id, created_at }) =>
      session_id !== null && trace_id !== null && sessions.has(session_id) && traces.has(trace_id)
        ? { session_id, trace_id, last_at: isWithin(created_at, times) ? created_at : null }
        : [],
    );
    return Promise.resolve(pairs);
  }

  sessionsReferencedWith(_scope: Scope, traceIds: readonly string[]): Promise<string[]> {
    const traces = new Set(traceIds);
    const sessions = this.all.flatMap(({ trace_id, session_id }) =>
      traces.has(trace_id!) ? (session_id ?? []) : [],
    );
    return Promise.resolve(sessions);
  }
}

/** A candidate and its sort time. */
interface DatedCandidate extends TargetRef {
  at: Date;
}

interface Bounds extends Times {
  results: ResultLookup;
}

/** Finds the traces or sessions that match a selection in the trace store, in results and in the sessions of agents. */
@Injectable()
export class CandidateFinder {
  constructor(
    private readonly traces: TraceStore,
    private readonly agents: SessionDirectory,
    private readonly allResults: ResultReferenceRepository,
  ) {}

  /**
   * Returns the candidates of a selection, newest first.
   *
   * @param signal ends the reading of pages when it is aborted
   * @param experimentResults the results of the selected experiment
   */
  async find(
    scope: Scope,
    selection: Selection,
    signal: AbortSignal,
    experimentResults?: ExperimentResults,
  ): Promise<Candidates> {
    const traces = this.traces.withSignal(signal);
    const { agentIds, grain, traceIds, since, until } = selection;
    const results = experimentResults ?? this.allResults;
    const sessions = await this.selectedSessions(scope, selection, experimentResults);
    if (agentIds && !sessions) {
      return new AgentSessions(traces, this.agents, scope, { agentIds, since, until });
    }
    const bounds = { since, until, results };
    const stored = (ids: Pick<TraceSelection, 'session_ids' | 'trace_ids'>): Candidates =>
      new StoredCandidates(traces, scope, grain, { since, until, ...ids });
    if (grain === 'trace') {
      const ids = intersection(
        traceIds,
        experimentResults?.all.flatMap(({ trace_id }) => trace_id ?? []),
      );
      return ids ? this.listTraces(scope, ids, sessions, bounds) : stored({ session_ids: sessions });
    }
    const ids = intersection(
      sessions,
      experimentResults && (await this.sessionsOf(scope, experimentResults)),
    );
    return ids ? this.listSessions(scope, ids, traceIds, bounds) : stored({ trace_ids: traceIds });
  }

  /** Returns a lookup of the session of a result: the session that it references, else the session of its trace. */
  async sessionOf(
    scope: Scope,
    results: readonly ReferencingResult[],
  ): Promise<(result: ReferencingResult) => string | undefined> {
    const traceIds = results.flatMap((one) => (one.session_id === null ? (one.trace_id ?? []) : []));
    const stored = await this.storedTraces(scope, traceIds);
    return ({ session_id, trace_id }) => session_id ?? stored.get(trace_id!)?.session_id ?? undefined;
  }

  private async sessionsOf(scope: Scope, { all }: ExperimentResults): Promise<string[]> {
    const sessionOf = await this.sessionOf(scope, all);
    return [...new Set(all.flatMap((result) => sessionOf(result) ?? []))];
  }

  /**
   * Returns the sessions selected by id or by agent. Returns undefined if neither is selected, and if the agents have too
   * many sessions to list and no other selector narrows them.
   */
  private async selectedSessions(
    scope: Scope,
    { sessionIds, agentIds, traceIds, grain }: Selection,
    experimentResults: ExperimentResults | undefined,
  ): Promise<string[] | undefined> {
    if (!agentIds) return sessionIds;
    const results = experimentResults ?? this.allResults;
    const ofTraces = traceIds && (await this.sessionsOfTraces(scope, traceIds, results));
    const ofResults =
      experimentResults && grain === 'session' ? await this.sessionsOf(scope, experimentResults) : undefined;
    const narrowed = intersection(intersection(sessionIds, ofTraces), ofResults);
    if (narrowed) return this.agents.sessionsAmong(scope, agentIds, narrowed);
    const some = await this.agents.someSessions(scope, agentIds, AGENT_SESSIONS_LISTED + 1);
    return some.length <= AGENT_SESSIONS_LISTED ? some : undefined;
  }

  /** Returns the sessions of traces, from the trace store and from the results that name both. */
  private async sessionsOfTraces(scope: Scope, traceIds: string[], results: ResultLookup): Promise<string[]> {
    const stored = await this.storedTraces(scope, traceIds);
    const named = await results.sessionsReferencedWith(scope, traceIds);
    return [...new Set([...[...stored.values()].flatMap((trace) => trace.session_id ?? []), ...named])];
  }

  /** Lists the traces that match. If the store lacks a trace or its session, the results that name the trace decide. */
  private async listTraces(
    scope: Scope,
    ids: string[],
    sessionIds: string[] | undefined,
    { results, ...times }: Bounds,
  ): Promise<ListedCandidates> {
    const sessions = sessionIds && new Set(sessionIds);
    const stored = await this.storedTraces(scope, ids);
    const found: DatedCandidate[] = [];
    const withoutSession: string[] = [];
    for (const { trace_id, session_id, started_at } of stored.values()) {
      if (!isWithin(started_at, times)) continue;
      if (sessions && session_id === null) withoutSession.push(trace_id);
      else if (!sessions || sessions.has(session_id!)) found.push({ trace_id, session_id, at: started_at });
    }
    const unknown = ids.filter((id) => !stored.has(id));
    const naming = [
      ...(await results.newestOfTraces(scope, unknown, { sessionIds, ...times })),
      ...(await results.newestOfTraces(scope, withoutSession, { sessionIds })),
    ];
    for (const { trace_id, session_id, created_at } of naming) {
      found.push({ trace_id, session_id, at: stored.get(trace_id!)?.started_at ?? created_at });
    }
    return newestFirst(found);
  }

  /**
   * Lists the sessions that match by one of their stored traces or, for an agent's session, by the last message. If
   * neither is stored, the results that name the session decide.
   */
  private async listSessions(
    scope: Scope,
    ids: string[],
    traceIds: string[] | undefined,
    { results, ...times }: Bounds,
  ): Promise<ListedCandidates> {
    const newest = new Map<string, Date>();
    const add = (session: string, at: Date): void => {
      if (isWithin(at, times) && !((newest.get(session) ?? 0) >= at)) newest.set(session, at);
    };
    const unknown = new Set(ids);
    for (const session_ids of chunks(ids)) {
      const limit = session_ids.length;
      const known = await this.traces.sessionRefs(scope, { session_ids }, limit);
      for (const { session_id } of known) unknown.delete(session_id);
      const isNarrowed = times.since ?? times.until ?? traceIds;
      const narrowed = { session_ids, trace_ids: traceIds, ...times };
      const matching = isNarrowed ? await this.traces.sessionRefs(scope, narrowed, limit) : known;
      for (const { session_id, last_started_at } of matching) add(session_id, last_started_at);
      if (traceIds) continue;
      for (const [session_id, at] of await this.agents.lastMessages(scope, session_ids)) {
        unknown.delete(session_id);
        add(session_id, at);
      }
    }
    if (traceIds) {
      // A stored trace counts by its start, because its result may have been written much later.
      const stored = await this.storedTraces(scope, traceIds);
      for (const { session_id, trace_id, last_at } of await results.pairsOf(scope, ids, traceIds, times)) {
        const at = stored.get(trace_id)?.started_at ?? last_at;
        if (at) add(session_id, at);
      }
    } else {
      const naming = await results.newestOfSessions(scope, [...unknown], times);
      for (const { session_id, created_at } of naming) add(session_id!, created_at);
    }
    return newestFirst([...newest].map(([session_id, at]) => ({ trace_id: null, session_id, at })));
  }

  /** Returns the stored traces by id. */
  private async storedTraces(scope: Scope, ids: readonly string[]): Promise<Map<string, TraceRef>> {
    const stored = new Map<string, TraceRef>();
    for (const trace_ids of chunks(ids)) {
      for (const ref of await this.traces.traceRefs(scope, { trace_ids }, trace_ids.length)) {
        stored.set(ref.trace_id, ref);
      }
    }
    return stored;
  }
}

const newestFirst = (found: DatedCandidate[]): ListedCandidates =>
  new ListedCandidates(found.sort((a, b) => b.at.getTime() - a.at.getTime()));

/** Returns the ids in both lists. If one list is undefined, returns the other. */
function intersection(one: string[] | undefined, other: string[] | undefined): string[] | undefined {
  if (!one || !other) return one ?? (other && [...new Set(other)]);
  const both = new Set(other);
  return one.filter((id) => both.has(id));
}

function* chunks(ids: readonly string[]): Iterable<string[]> {
  for (let at = 0; at < ids.length; at += CHUNK) yield ids.slice(at, at + CHUNK);
}

const isWithin = (at: Date, { since, until }: Times): boolean =>
  (!since || at >= since) && (!until || at < until);

function newestOf(
  member: 'trace_id' | 'session_id',
  results: readonly ReferencingResult[],
  ids: readonly string[],
  times: Times,
): ReferencingResult[] {
  const wanted = new Set(ids);
  return results.filter((result) => isWithin(result.created_at, times) && wanted.delete(result[member]!));
}
