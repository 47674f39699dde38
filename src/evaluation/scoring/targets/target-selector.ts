import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type FieldError, type Problem, problem } from '#platform/problem';
import { SessionDirectory } from '../../../agents';
import { TraceStore } from '../../../telemetry';
import { ExperimentRepository } from '../../experiments';
import type { PinnedScorer } from '../../scorers';
import { ResultReferenceRepository, TargetDirectory, type Times } from '../../scores';
import { AgentSessions } from './agent-sessions';
import {
  type Candidates,
  chunks,
  isWithin,
  listedCandidates,
  type Selection,
  storedSessionCandidates,
  storedTraceCandidates,
  storedTraces,
  takeFirst,
  unscoredCandidates,
} from './candidates';
import { ResultCandidates, scannedRangeOf } from './result-candidates';
import {
  type ScannedRange,
  type ScoringTarget,
  type TargetRef,
  TARGETS_MAX,
  toTargets,
} from './target.entity';
import { TargetRepository } from './target.repository';

/** Maximum number of agents' sessions that are listed by id. If the agents have more, their sessions are read in pages. */
const AGENT_SESSIONS_LISTED = 1_000;

/** A candidate and its sort time. */
interface DatedCandidate extends TargetRef {
  at: Date;
}

type Conditions = Times & Pick<Selection, 'filters'>;

type Ids = readonly string[] | null;

/** The ids in a request to score. */
type RequestedIds = Partial<Record<'trace_ids' | 'session_ids' | 'agent_ids', Ids>> & {
  experiment_id?: string | null;
};

/** A selection of targets for a version of a scorer. */
interface SelectionRequest {
  scorer: PinnedScorer;
  selection: Selection;
}

/** Selects the targets of a run. */
@Injectable()
export class TargetSelector {
  constructor(
    private readonly directory: TargetDirectory,
    private readonly agents: SessionDirectory,
    private readonly experiments: ExperimentRepository,
    private readonly traces: TraceStore,
    private readonly results: ResultReferenceRepository,
    private readonly targets: TargetRepository,
  ) {}

  /**
   * Returns the targets of a selection, newest first. If the selection covers a whole experiment, also returns the range of
   * results that was scanned. Errors: 422 for more targets than the cap, with their number. Throws the signal's reason soon
   * after it is aborted.
   */
  async select(
    scope: Scope,
    request: SelectionRequest,
    signal: AbortSignal,
  ): Promise<{ targets: ScoringTarget[]; scannedRange: ScannedRange | null }> {
    const { scorer, selection } = request;
    const { limit, cap, grain, experimentId, unscoredOnly } = selection;
    if (limit === 0) return { targets: [], scannedRange: null };
    const isWholeExperiment = coversExperiment(selection);
    const scannedRanges =
      unscoredOnly && isWholeExperiment
        ? await this.targets.scannedRanges(scope, { ...scorer, grain }, experimentId!)
        : [];
    const candidates = await this.candidates(scope, request, signal, scannedRanges);
    const selected = await takeFirst(candidates, limit ?? cap + 1);
    if (limit === undefined && selected.length > cap) throw tooManyTargets(await candidates.count(), cap);
    const targets = toTargets(selected);
    return { targets, scannedRange: isWholeExperiment ? scannedRangeOf(targets, scannedRanges) : null };
  }

  /**
   * Returns the traces or results of a selection, newest first, up to its limit. If there are more than the cap, returns their
   * number instead. Throws the signal's reason soon after it is aborted.
   */
  async selectOrCount(
    scope: Scope,
    selection: Selection,
    signal: AbortSignal,
  ): Promise<TargetRef[] | number> {
    const { limit, cap } = selection;
    const candidates = await this.find(scope, selection, signal, []);
    const selected = await takeFirst(candidates, limit ?? cap + 1);
    return selected.length > cap ? candidates.count() : selected;
  }

  /**
   * Returns the candidates of a selection, newest first. With `unscoredOnly`, omits those that the scorer version has scored.
   *
   * @param scannedRanges ranges of results that come last
   */
  async candidates(
    scope: Scope,
    { scorer, selection }: SelectionRequest,
    signal: AbortSignal,
    scannedRanges: readonly ScannedRange[] = [],
  ): Promise<Candidates> {
    const all = await this.find(scope, selection, signal, scannedRanges);
    if (!selection.unscoredOnly) return all;
    return unscoredCandidates(all, (ids) => {
      signal.throwIfAborted();
      return this.targets.findEarlier(scope, { ...scorer, grain: selection.grain }, ids);
    });
  }

  /** Checks that the ids in a request exist. Errors: 404 with the unknown ids. */
  async checkIds(scope: Scope, requested: RequestedIds): Promise<void> {
    const { experiment_id = null, trace_ids, session_ids, agent_ids } = requested;
    const errors: FieldError[] = [];
    if (experiment_id !== null && !(await this.experiments.exists(scope, experiment_id))) {
      errors.push({ pointer: '/experiment_id', detail: unknown('experiment', experiment_id) });
    }
    const check = async (
      kind: 'trace' | 'session' | 'agent',
      ids: Ids | undefined,
      findExisting: (distinctIds: string[]) => Promise<Pick<ReadonlySet<string>, 'has'>>,
    ): Promise<void> => {
      if (!ids || ids.length === 0) return;
      const existing = await findExisting([...new Set(ids)]);
      ids.forEach((id, index) => {
        if (!existing.has(id)) errors.push({ pointer: `/${kind}_ids/${index}`, detail: unknown(kind, id) });
      });
    };
    await check('trace', trace_ids, (ids) => this.directory.traces(scope, ids));
    await check('session', session_ids, (ids) => this.directory.sessions(scope, ids));
    await check('agent', agent_ids, (ids) => this.agents.existingAgents(scope, ids));
    if (errors.length > 0) throw problem.unknownReferences(errors);
  }

  /**
   * Returns the candidates of a selection, newest first: the results of its experiment or, without an experiment, traces or
   * sessions from the trace store, results and agents.
   *
   * @param signal stops reading pages when it is aborted
   * @param scannedRanges ranges of results that come last
   */
  private async find(
    scope: Scope,
    selection: Selection,
    signal: AbortSignal,
    scannedRanges: readonly ScannedRange[],
  ): Promise<Candidates> {
    const traces = this.traces.withSignal(signal);
    const { agentIds, experimentId, grain, traceIds, since, until, filters } = selection;
    if (experimentId !== undefined) {
      const ofExperiment = { ...selection, experimentId };
      return new ResultCandidates(traces, this.agents, this.results, scope, ofExperiment, scannedRanges);
    }
    const sessions = await this.selectedSessions(scope, selection);
    if (agentIds && !sessions) {
      return new AgentSessions(traces, this.agents, scope, { agentIds, since, until, filters });
    }
    const conditions = { since, until, filters };
    if (grain === 'trace' && traceIds) return this.listTraces(scope, traceIds, sessions, conditions);
    if (grain === 'session' && sessions) return this.listSessions(scope, sessions, traceIds, conditions);
    const matching = { ...conditions, session_ids: sessions, trace_ids: traceIds };
    return grain === 'trace'
      ? storedTraceCandidates(traces, scope, matching)
      : storedSessionCandidates(traces, scope, matching);
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
  ): Promise<Candidates> {
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
  ): Promise<Candidates> {
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

/** Tells whether a selection covers all results of an experiment. */
const coversExperiment = (selection: Selection): boolean => {
  const { experimentId, traceIds, sessionIds, agentIds, since, until, filters } = selection;
  const narrowing = traceIds ?? sessionIds ?? agentIds ?? since ?? until ?? filters;
  return experimentId !== undefined && narrowing === undefined;
};

/** Returns the error (422) for a selection of more targets than the cap. */
export const tooManyTargets = (count: number, cap: number): Problem =>
  problem.validationFailed(
    [
      `The selection matches ${count} targets, more than ${cap}. Set a limit or narrow the selection.`,
      ...waysToScoreAll(cap),
    ].join(' '),
  );

const waysToScoreAll = (cap: number): string[] => {
  if (cap < TARGETS_MAX.score) return [];
  return cap === TARGETS_MAX.score
    ? ['To score all of them, use POST /eval/v1/scorers/{scorer_id}/batches.']
    : ['To score all of them, repeat the request with unscored_only and a limit.'];
};

/** Returns the detail for an unknown id. Quotes the id only if it cannot break the sentence. */
const unknown = (kind: string, id: string): string =>
  `The ${kind} ${/^[\w.:-]{1,255}$/.test(id) ? `${id} ` : ''}does not exist or is not visible to you.`;

const newestFirst = (candidates: DatedCandidate[]): Candidates =>
  listedCandidates(candidates.sort((a, b) => b.at.getTime() - a.at.getTime()));

/** Returns the ids in both lists. If one list is undefined, returns the other. */
function intersection(one: string[] | undefined, other: string[] | undefined): string[] | undefined {
  if (!one || !other) return one ?? (other && [...new Set(other)]);
  const both = new Set(other);
  return one.filter((id) => both.has(id));
}
