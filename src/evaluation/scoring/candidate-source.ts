import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';
import { SessionDirectory } from '../../agents';
import { type TraceRef, TraceStore } from '../../telemetry';
import { AgentSessions } from './agent-sessions';
import { type Candidate, type Candidates, ListedCandidates } from './candidates';
import type { PinnedScorer } from './earlier-scores.repository';
import type { Selection } from './selection';
import { type NamedPair, type NamingResult, SelectionRepository, type Times } from './selection.repository';
import { type CandidatesWhere, StoredCandidates, UnscoredTargets } from './unscored-targets';

/** Results of one experiment that a selection is made from. */
export const EXPERIMENT_RESULTS_MAX = 100_000;
/** Sessions of agents that are looked up by their ids. Of more, which there may be without bound, the newest are read. */
const AGENT_SESSIONS_LISTED = 1_000;
const CHUNK = 1_000;

interface Dated extends Candidate {
  at: Date;
}

/**
 * Turns selectors into candidates. Traces and sessions are known from the trace store and from results: a result may
 * name a trace whose spans never came.
 */
@Injectable()
export class CandidateSource {
  constructor(
    private readonly traces: TraceStore,
    private readonly agents: SessionDirectory,
    private readonly results: SelectionRepository,
    private readonly unscored: UnscoredTargets,
  ) {}

  /** The results of the selection's experiment, newest first. 422 where there are too many to select from. */
  async resultsOf(scope: Scope, { experimentId }: Selection): Promise<NamingResult[] | undefined> {
    if (experimentId === undefined) return undefined;
    const found = await this.results.ofExperiment(scope, experimentId, EXPERIMENT_RESULTS_MAX + 1);
    if (found.length <= EXPERIMENT_RESULTS_MAX) return found;
    throw problem.validationFailed([
      {
        pointer: '/experiment_id',
        detail: `has over ${EXPERIMENT_RESULTS_MAX} results; name its traces by trace_ids`,
      },
    ]);
  }

  /**
   * What a selection holds, newest first. Where only those are wanted that this version of the scorer has neither
   * scored nor is about to score, what it failed at comes after what it has not tried, so that calling again goes on
   * also where some targets fail every time.
   *
   * @param named the results of the experiment, where one is selected.
   */
  async candidates(
    scope: Scope,
    scorer: PinnedScorer,
    selection: Selection,
    named: NamingResult[] | undefined,
  ): Promise<Candidates> {
    const { grain, unscoredOnly } = selection;
    const found = await this.find(scope, selection, named);
    if (found instanceof ListedCandidates) {
      return unscoredOnly ? this.unscored.ofListed(scope, scorer, grain, found) : found;
    }
    return unscoredOnly ? this.unscored.ofStored(scope, scorer, grain, found) : found({});
  }

  /** The candidates where the selectors tell their ids, else those that tables hold. */
  private async find(
    scope: Scope,
    selection: Selection,
    named: NamingResult[] | undefined,
  ): Promise<ListedCandidates | CandidatesWhere> {
    const { agentIds, grain } = selection;
    const sessions = await this.namedSessions(scope, selection, named);
    const bounds = { since: selection.since, until: selection.until };
    if (agentIds && !sessions) {
      return (conditions) =>
        new AgentSessions(this.traces, this.agents, scope, { agentIds, ...bounds, ...conditions });
    }
    const stored =
      (of: { session_ids?: string[] | undefined; trace_ids?: string[] | undefined }): CandidatesWhere =>
      (conditions) =>
        new StoredCandidates(this.traces, scope, grain, { ...bounds, ...of, ...conditions });
    if (grain === 'trace') {
      const ids = intersection(
        selection.traceIds,
        named?.flatMap(({ trace_id }) => trace_id ?? []),
      );
      if (ids) return this.listedTraces(scope, ids, { ...bounds, sessionIds: sessions, named });
      return stored({ session_ids: sessions });
    }
    const ofExperiment = named && (await this.sessionsOfResults(scope, named));
    const ids = intersection(sessions, ofExperiment);
    if (ids) return this.listedSessions(scope, ids, { ...bounds, traceIds: selection.traceIds, named });
    return stored({ trace_ids: selection.traceIds });
  }

  /** The session that each of these traces belongs to, where it has one. */
  async sessionsOfTraces(scope: Scope, traceIds: readonly string[]): Promise<Map<string, string>> {
    const sessions = new Map<string, string>();
    for (const { trace_id, session_id } of (await this.storedTraces(scope, traceIds)).values())
      if (session_id !== null) sessions.set(trace_id, session_id);
    return sessions;
  }

  /**
   * Sessions that are named by their ids or by their agents; undefined where neither is, and where agents are that have
   * too many of them to list, with no other selector to tell which.
   */
  private async namedSessions(
    scope: Scope,
    selection: Selection,
    named: NamingResult[] | undefined,
  ): Promise<string[] | undefined> {
    const { sessionIds, agentIds, traceIds, grain } = selection;
    if (!agentIds) return sessionIds;
    const ofTraces = traceIds && (await this.sessionsNamedWith(scope, traceIds, named));
    const ofResults = named && grain === 'session' ? await this.sessionsOfResults(scope, named) : undefined;
    const others = intersection(intersection(sessionIds, ofTraces), ofResults);
    if (others) return this.agents.sessionsAmong(scope, agentIds, others);
    const found = await this.agents.someSessions(scope, agentIds, AGENT_SESSIONS_LISTED + 1);
    return found.length <= AGENT_SESSIONS_LISTED ? found : undefined;
  }

  /** The sessions of these traces, by the store and by the results that name them. */
  private async sessionsNamedWith(
    scope: Scope,
    traceIds: string[],
    named: NamingResult[] | undefined,
  ): Promise<string[]> {
    const ids = new Set(traceIds);
    const stored = await this.sessionsOfTraces(scope, traceIds);
    const naming = named
      ? named.flatMap(({ trace_id, session_id }) => (ids.has(trace_id!) ? (session_id ?? []) : []))
      : await this.results.sessionsNamedWith(scope, traceIds);
    return [...new Set([...stored.values(), ...naming])];
  }

  /** A trace fits by what the store knows of it, else by any of the results that name it. */
  private async listedTraces(
    scope: Scope,
    ids: string[],
    { sessionIds, named, ...times }: TraceBounds,
  ): Promise<ListedCandidates> {
    const sessions = sessionIds && new Set(sessionIds);
    const stored = await this.storedTraces(scope, ids);
    const found: Dated[] = [];
    const homeless: string[] = [];
    for (const { trace_id, session_id, started_at } of stored.values()) {
      if (!isWithin(started_at, times)) continue;
      if (sessions && session_id === null) homeless.push(trace_id);
      else if (!sessions || sessions.has(session_id!)) found.push({ trace_id, session_id, at: started_at });
    }
    const unknown = ids.filter((id) => !stored.has(id));
    const naming = named
      ? newestFitting('trace_id', named, unknown, { sessionIds: sessions, ...times })
      : await this.results.newestOfTraces(scope, unknown, { sessionIds, ...times });
    for (const { trace_id, session_id, created_at } of naming)
      found.push({ trace_id, session_id, at: created_at });
    const placing = named
      ? newestFitting('trace_id', named, homeless, { sessionIds: sessions })
      : await this.results.newestOfTraces(scope, homeless, { sessionIds });
    for (const { trace_id, session_id } of placing)
      found.push({ trace_id, session_id, at: stored.get(trace_id!)!.started_at });
    return listed(found);
  }

  /**
   * A session fits by any of its traces in the store, an agent's also by what was said in it last, and one of which
   * neither is known by any of the results that name it.
   */
  private async listedSessions(
    scope: Scope,
    ids: string[],
    { traceIds, named, ...times }: SessionBounds,
  ): Promise<ListedCandidates> {
    const newest = new Map<string, Date>();
    const fits = (session: string, at: Date): void => {
      if (!((newest.get(session) ?? 0) >= at)) newest.set(session, at);
    };
    const unknown = new Set(ids);
    for (const session_ids of chunks(ids)) {
      const limit = session_ids.length;
      const known = await this.traces.sessionRefs(scope, { session_ids }, limit);
      for (const { session_id } of known) unknown.delete(session_id);
      const isNarrowed = times.since ?? times.until ?? traceIds;
      const fitting = isNarrowed
        ? await this.traces.sessionRefs(scope, { session_ids, trace_ids: traceIds, ...times }, limit)
        : known;
      for (const { session_id, last_started_at } of fitting) fits(session_id, last_started_at);
      const ofAgents = traceIds ? [] : await this.agents.lastMessages(scope, session_ids);
      for (const [session_id, at] of ofAgents) {
        unknown.delete(session_id);
        if (isWithin(at, times)) fits(session_id, at);
      }
    }
    if (traceIds) {
      // when a trace happened, the store knows better than the result, which may have been written much later
      const stored = await this.storedTraces(scope, traceIds);
      const naming = named
        ? pairsFitting(named, new Set(ids), new Set(traceIds), times)
        : await this.results.pairsOf(scope, ids, traceIds, times);
      for (const { session_id, trace_id, last_at } of naming) {
        const at = stored.get(trace_id)?.started_at ?? last_at;
        if (at && isWithin(at, times)) fits(session_id, at);
      }
    } else {
      const naming = named
        ? newestFitting('session_id', named, [...unknown], times)
        : await this.results.newestOfSessions(scope, [...unknown], times);
      for (const { session_id, created_at } of naming) fits(session_id!, created_at);
    }
    return listed([...newest].map(([session_id, at]) => ({ trace_id: null, session_id, at })));
  }

  /** Those of these traces that the store has, by their ids. */
  private async storedTraces(scope: Scope, ids: readonly string[]): Promise<Map<string, TraceRef>> {
    const stored = new Map<string, TraceRef>();
    for (const trace_ids of chunks(ids)) {
      for (const ref of await this.traces.traceRefs(scope, { trace_ids }, trace_ids.length))
        stored.set(ref.trace_id, ref);
    }
    return stored;
  }

  /** Sessions that results name, themselves or by their traces. */
  private async sessionsOfResults(scope: Scope, named: NamingResult[]): Promise<string[]> {
    const byTrace = await this.sessionsOfTraces(
      scope,
      named.flatMap((result) => (result.session_id === null ? (result.trace_id ?? []) : [])),
    );
    return [
      ...new Set(
        named.flatMap(({ session_id, trace_id }) => session_id ?? byTrace.get(trace_id as string) ?? []),
      ),
    ];
  }
}

interface TraceBounds extends Times {
  sessionIds: string[] | undefined;
  named: NamingResult[] | undefined;
}
interface SessionBounds extends Times {
  traceIds: string[] | undefined;
  named: NamingResult[] | undefined;
}

const isWithin = (at: Date, { since, until }: Times): boolean =>
  (!since || at >= since) && (!until || at < until);

/** Of each of these traces or sessions the newest result that fits, of results that are sorted, newest first. */
function newestFitting(
  member: 'trace_id' | 'session_id',
  results: readonly NamingResult[],
  ids: readonly string[],
  { sessionIds, ...times }: Times & { sessionIds?: ReadonlySet<string> | undefined },
): NamingResult[] {
  const wanted = new Set(ids);
  const newest: NamingResult[] = [];
  for (const result of results) {
    if (!wanted.has(result[member]!) || !isWithin(result.created_at, times)) continue;
    if (sessionIds && !sessionIds.has(result.session_id!)) continue;
    wanted.delete(result[member]!);
    newest.push(result);
  }
  return newest;
}

/** The same as `SelectionRepository.pairsOf`, of results that are known; not grouped. */
function pairsFitting(
  results: readonly NamingResult[],
  sessionIds: ReadonlySet<string>,
  traceIds: ReadonlySet<string>,
  times: Times,
): NamedPair[] {
  return results.flatMap(({ session_id, trace_id, created_at }) =>
    session_id !== null && trace_id !== null && sessionIds.has(session_id) && traceIds.has(trace_id)
      ? { session_id, trace_id, last_at: isWithin(created_at, times) ? created_at : null }
      : [],
  );
}

const listed = (found: Dated[]): ListedCandidates =>
  new ListedCandidates(found.sort((a, b) => b.at.getTime() - a.at.getTime()));

/** What is in both; the one that is given where only one is. */
function intersection(one: string[] | undefined, other: string[] | undefined): string[] | undefined {
  if (!one || !other) return one ?? (other && [...new Set(other)]);
  const both = new Set(other);
  return one.filter((id) => both.has(id));
}

function* chunks(ids: readonly string[]): Iterable<string[]> {
  for (let at = 0; at < ids.length; at += CHUNK) yield ids.slice(at, at + CHUNK);
}
