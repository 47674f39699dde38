import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';
import { TraceStore } from '../../telemetry';
import { AgentSessions } from './agent-sessions';
import { type Candidate, type Candidates, ListedCandidates } from './candidates';
import type { Selection } from './selection';
import { type NamingResult, SelectionRepository } from './selection.repository';

/** Results of one experiment that a selection is made from. */
export const EXPERIMENT_RESULTS_MAX = 100_000;
/** Sessions of the agents that a selection names. */
const AGENT_SESSIONS_MAX = 10_000;
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
    private readonly agents: AgentSessions,
    private readonly results: SelectionRepository,
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

  /** @param named the results of the experiment, where one is selected. */
  async candidates(
    scope: Scope,
    selection: Selection,
    named: NamingResult[] | undefined,
  ): Promise<Candidates> {
    const sessions = await this.namedSessions(scope, selection);
    const bounds = { since: selection.since, until: selection.until };
    if (selection.grain === 'trace') {
      const ids = intersection(
        selection.traceIds,
        named?.flatMap(({ trace_id }) => trace_id ?? []),
      );
      if (ids) return this.listedTraces(scope, ids, { ...bounds, sessions, named });
      const where = { ...bounds, session_ids: sessions };
      return {
        page: async (offset, limit) => this.traces.traceRefs(scope, where, { offset, limit }),
        count: () => this.traces.countSelectedTraces(scope, where),
      };
    }
    const ofExperiment = named && (await this.sessionsOfResults(scope, named));
    const ids = intersection(sessions, ofExperiment);
    if (ids) return this.listedSessions(scope, ids, { ...bounds, traceIds: selection.traceIds, named });
    const where = { ...bounds, trace_ids: selection.traceIds };
    return {
      page: async (offset, limit) =>
        (await this.traces.sessionRefs(scope, where, { offset, limit })).map(asSession),
      count: () => this.traces.countSelectedSessions(scope, where),
    };
  }

  /** The session that each of these traces belongs to, where it has one. */
  async sessionsOfTraces(scope: Scope, traceIds: readonly string[]): Promise<Map<string, string>> {
    const sessions = new Map<string, string>();
    for (const ids of chunks(traceIds)) {
      const refs = await this.traces.traceRefs(scope, { trace_ids: ids }, { offset: 0, limit: ids.length });
      for (const { trace_id, session_id } of refs)
        if (session_id !== null) sessions.set(trace_id, session_id);
    }
    return sessions;
  }

  /** Sessions that are named by their ids or by their agents; undefined where neither is. */
  private async namedSessions(
    scope: Scope,
    { sessionIds, agentIds }: Selection,
  ): Promise<string[] | undefined> {
    const ofAgents = agentIds && (await this.agents.sessionsOf(scope, agentIds, AGENT_SESSIONS_MAX));
    return intersection(sessionIds, ofAgents);
  }

  private async listedTraces(scope: Scope, ids: string[], bounds: TraceBounds): Promise<Candidates> {
    const found: Dated[] = [];
    const stored = new Set<string>();
    for (const chunk of chunks(ids)) {
      const page = { offset: 0, limit: chunk.length };
      for (const { trace_id, session_id, started_at } of await this.traces.traceRefs(
        scope,
        { trace_ids: chunk },
        page,
      )) {
        stored.add(trace_id);
        found.push({ trace_id, session_id, at: started_at });
      }
    }
    const rest = ids.filter((id) => !stored.has(id));
    const naming = bounds.named ?? (await this.results.newestOfTraces(scope, rest));
    found.push(...newestBy('trace_id', naming, new Set(rest)));
    const sessions = bounds.sessions && new Set(bounds.sessions);
    return listed(
      found.filter(
        (one) => isWithin(one.at, bounds) && (!sessions || sessions.has(one.session_id as string)),
      ),
    );
  }

  private async listedSessions(scope: Scope, ids: string[], bounds: SessionBounds): Promise<Candidates> {
    const { since, until, traceIds } = bounds;
    const found: Dated[] = [];
    const stored = new Set<string>();
    for (const chunk of chunks(ids)) {
      const page = { offset: 0, limit: chunk.length };
      const known = await this.traces.sessionRefs(scope, { session_ids: chunk }, page);
      for (const { session_id } of known) stored.add(session_id);
      const fitting =
        since || until || traceIds
          ? await this.traces.sessionRefs(
              scope,
              { session_ids: chunk, since, until, trace_ids: traceIds },
              page,
            )
          : known;
      found.push(
        ...fitting.map(({ session_id, last_started_at }) => ({
          trace_id: null,
          session_id,
          at: last_started_at,
        })),
      );
    }
    const rest = ids.filter((id) => !stored.has(id));
    const naming = bounds.named ?? (await this.results.newestOfSessions(scope, rest));
    const byResult = newestBy('session_id', naming, new Set(rest)).filter(
      (one) => isWithin(one.at, bounds) && (!traceIds || traceIds.includes(one.trace_id as string)),
    );
    found.push(...byResult.map((one) => ({ ...one, trace_id: null })));
    return listed(found);
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

interface TimeBounds {
  since: Date | undefined;
  until: Date | undefined;
  named: NamingResult[] | undefined;
}
interface TraceBounds extends TimeBounds {
  sessions: string[] | undefined;
}
interface SessionBounds extends TimeBounds {
  traceIds: string[] | undefined;
}

const isWithin = (at: Date, { since, until }: TimeBounds): boolean =>
  (!since || at >= since) && (!until || at < until);

const asSession = ({ session_id }: { session_id: string }): Candidate => ({ trace_id: null, session_id });

/** What the newest result says of each of these traces or sessions. */
function newestBy(
  member: 'trace_id' | 'session_id',
  results: readonly NamingResult[],
  ids: ReadonlySet<string>,
): Dated[] {
  const newest = new Map<string, Dated>();
  for (const result of results) {
    const { [member]: id, trace_id, session_id, created_at } = result;
    if (id !== null && ids.has(id) && !newest.has(id))
      newest.set(id, { trace_id, session_id, at: created_at });
  }
  return [...newest.values()];
}

const listed = (found: Dated[]): Candidates =>
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
