import type { Scope } from '#platform/auth';
import type { AgentSelection, SessionDirectory, SessionRef } from '../../../agents';
import type {
  SessionRef as TracedSession,
  TraceFilter,
  TraceRef,
  TraceSelection,
  TraceStore,
} from '../../../telemetry';
import type { Grain } from '../../scorers';
import { type ScoringTarget, targetIdOf, type TargetRef } from '../score-runs/score-run.entity';

/** The targets that a request selects. Selectors narrow each other; those that are undefined do not narrow. */
export interface Selection {
  grain: Grain;
  traceIds: string[] | undefined;
  sessionIds: string[] | undefined;
  agentIds: string[] | undefined;
  experimentId: string | undefined;
  since: Date | undefined;
  until: Date | undefined;
  /** Conditions on the trace. A session matches if one of its traces does, and a result if its trace does. */
  filters: readonly TraceFilter[] | undefined;
  /** Number of newest targets to select. Without a limit, a selection of more than `cap` targets is rejected. */
  limit: number | undefined;
  cap: number;
  unscoredOnly: boolean;
}

/** The traces, sessions or results that match a selection, each once, newest first. */
export interface Candidates {
  /** Reads the candidates page by page. The first page has about `targetCount` candidates; any page may be empty. */
  pages(targetCount: number): AsyncIterable<TargetRef[]> | Iterable<TargetRef[]>;
  count(): Promise<number>;
}

/** Smallest and largest page of candidates. */
const PAGE_MIN = 100;
export const PAGE_MAX = 5_000;
/** Smallest and largest page of sessions of the trace store. Each read groups all traces of the selection. */
const SESSIONS_MIN = 1_000;
const SESSIONS_MAX = 20_000;

/** Yields page sizes: first `targetCount`, then twice the size before, all within the bounds. */
export function* pageSizes(targetCount: number, min = PAGE_MIN, max = PAGE_MAX): Generator<number, never> {
  for (let size = Math.max(targetCount, min); ; size *= 2) yield Math.min(size, max);
}

/** Returns the first candidates, at most `limit`. Takes each candidate once, even if it moves while pages are read. */
export async function takeFirst(candidates: Candidates, limit: number): Promise<TargetRef[]> {
  const first = new Map<string, TargetRef>();
  for await (const page of candidates.pages(limit)) {
    for (const candidate of page) first.set(targetIdOf(candidate), candidate);
    if (first.size >= limit) break;
  }
  return [...first.values()].slice(0, limit);
}

/** Returns selected candidates as the targets of a run, in the same order. */
export const toTargets = (selected: readonly TargetRef[]): ScoringTarget[] =>
  selected.map((target, ordinal) => ({
    ordinal,
    trace_id: target.trace_id,
    session_id: target.session_id,
    result_experiment_id: target.result_experiment_id ?? null,
    result_id: target.result_id ?? null,
    result_version: target.result_version ?? null,
    case_id: target.case_id ?? null,
  }));

/** Candidates that are already in memory. */
export class ListedCandidates implements Candidates {
  constructor(private readonly all: readonly TargetRef[]) {}

  *pages(targetCount: number): Generator<TargetRef[]> {
    let at = 0;
    for (const size of pageSizes(targetCount)) {
      if (at >= this.all.length) return;
      yield this.all.slice(at, (at += size));
    }
  }

  count(): Promise<number> {
    return Promise.resolve(this.all.length);
  }
}

/** Traces of the trace store, or their sessions. */
export class StoredCandidates implements Candidates {
  constructor(
    private readonly traces: TraceStore,
    private readonly scope: Scope,
    private readonly grain: Grain,
    private readonly selection: TraceSelection,
  ) {}

  pages(targetCount: number): AsyncIterable<TargetRef[]> {
    return this.grain === 'trace'
      ? tracePages(this.traces, this.scope, this.selection, targetCount)
      : this.sessionPages(targetCount);
  }

  count(): Promise<number> {
    return this.grain === 'trace'
      ? this.traces.countSelectedTraces(this.scope, this.selection)
      : this.traces.countSelectedSessions(this.scope, this.selection);
  }

  private async *sessionPages(targetCount: number): AsyncGenerator<TargetRef[]> {
    let last: TracedSession | undefined;
    for (const size of pageSizes(targetCount, SESSIONS_MIN, SESSIONS_MAX)) {
      const sessions = await this.traces.sessionRefs(this.scope, this.selection, size, last);
      yield sessions.map(({ session_id }) => ({ trace_id: null, session_id }));
      last = sessions.at(-1);
      if (sessions.length < size) return;
    }
  }
}

/** Reads the traces of a selection page by page, newest first. */
async function* tracePages(
  traces: TraceStore,
  scope: Scope,
  selection: TraceSelection,
  targetCount: number,
): AsyncGenerator<TraceRef[]> {
  let last: TraceRef | undefined;
  for (const size of pageSizes(targetCount)) {
    const refs = await traces.traceRefs(scope, selection, size, last);
    yield refs;
    last = refs.at(-1);
    if (refs.length < size) return;
  }
}

/** A session and its sort time. */
interface DatedSession {
  session_id: string;
  at: Date;
}

/** A page of sessions, newest first. */
interface DatedPage {
  sessions: DatedSession[];
  /** Sort time of the last entry read: sessions on later pages are not newer. Undefined if nothing was read. */
  reached: Date | undefined;
}

/**
 * The sessions of agents with too many sessions to list, newest first by last message or trace. The cost grows with the
 * number of sessions read, and with the number of newer traces in the workspace.
 */
export class AgentSessions implements Candidates {
  constructor(
    private readonly traces: TraceStore,
    private readonly agents: SessionDirectory,
    private readonly scope: Scope,
    private readonly selection: AgentSelection & Pick<Selection, 'filters'>,
  ) {}

  /** Merges the sessions by message with those by trace. The first occurrence of a session is its newest. */
  async *pages(targetCount: number): AsyncGenerator<TargetRef[]> {
    const seen = new Set<string>();
    const byMessage = new SessionCursor(
      this.selection.filters ? noPages() : this.pagesByMessage(targetCount),
    );
    const byTrace = new SessionCursor(this.pagesByTrace(targetCount));
    for (let size = Math.min(targetCount, PAGE_MAX); ; size = Math.min(size * 2, PAGE_MAX)) {
      const page: TargetRef[] = [];
      while (page.length < size) {
        await byMessage.load();
        if (byMessage.next || !this.haveMessages) await byTrace.load(byMessage.next?.at);
        const newest = isNewer(byTrace.next, byMessage.next) ? byTrace.take() : byMessage.take();
        if (!newest) {
          yield page;
          return;
        }
        if (seen.has(newest.session_id)) continue;
        seen.add(newest.session_id);
        page.push({ trace_id: null, session_id: newest.session_id });
      }
      yield page;
    }
  }

  async count(): Promise<number> {
    if (this.haveMessages) return this.agents.countSessions(this.scope, this.selection);
    let count = 0;
    for await (const page of this.pages(PAGE_MAX)) count += page.length;
    return count;
  }

  /**
   * Whether every session matches by its messages. With `since` or `until`, a session may match only by its traces. With
   * `filters`, sessions always match only by their traces.
   */
  private get haveMessages(): boolean {
    return !this.selection.since && !this.selection.until && !this.selection.filters;
  }

  private async *pagesByMessage(targetCount: number): AsyncGenerator<DatedPage, undefined> {
    let last: SessionRef | undefined;
    for (const size of pageSizes(targetCount)) {
      const refs = await this.agents.newestSessions(this.scope, this.selection, size, last);
      last = refs.at(-1);
      const sessions = refs.map(({ session_id, last_message_at }) => ({ session_id, at: last_message_at }));
      yield { sessions, reached: last?.last_message_at };
      if (refs.length < size) return;
    }
  }

  private async *pagesByTrace(targetCount: number): AsyncGenerator<DatedPage, undefined> {
    const { agentIds, since, until, filters } = this.selection;
    for await (const refs of tracePages(this.traces, this.scope, { since, until, filters }, targetCount)) {
      const ids = [...new Set(refs.flatMap(({ session_id }) => session_id ?? []))];
      const agentSessions = new Set(await this.agents.filterByAgents(this.scope, agentIds, ids));
      const sessions = refs.flatMap(({ session_id, started_at }) =>
        session_id !== null && agentSessions.has(session_id) ? { session_id, at: started_at } : [],
      );
      yield { sessions, reached: refs.at(-1)?.started_at };
    }
  }
}

async function* noPages(): AsyncGenerator<never, undefined> {
  // Yields nothing.
}

const isNewer = (one: DatedSession | undefined, other: DatedSession | undefined): boolean =>
  one !== undefined && (!other || one.at > other.at);

/** Reads sessions one by one from pages, and loads a page only when it is needed. */
class SessionCursor {
  private sessions: DatedSession[] = [];
  private at = 0;
  private reached: Date | undefined;
  private isDone = false;

  constructor(private readonly pages: AsyncGenerator<DatedPage, undefined>) {}

  get next(): DatedSession | undefined {
    return this.sessions[this.at];
  }

  take(): DatedSession | undefined {
    return this.sessions[this.at++];
  }

  /** Loads pages until there is a next session, or until no further session can be newer than `than`. */
  async load(than?: Date): Promise<void> {
    while (!this.isDone && !this.next && !(than && this.reached && this.reached <= than)) {
      const { value, done } = await this.pages.next();
      this.isDone = done === true;
      if (value) [this.sessions, this.at, this.reached] = [value.sessions, 0, value.reached];
    }
  }
}

/** Looks up targets that a scorer version has tried. True if a target is scored or in an open run, false if it only failed. */
export type FindEarlier = (targetIds: readonly string[]) => Promise<ReadonlyMap<string, boolean>>;

/**
 * Returns the candidates that a scorer version has not scored and that are in none of its open runs. Targets that failed
 * before come after untried ones, so that repeated requests make progress even if some targets always fail. Returns at most
 * `targetCount` failed targets.
 */
export function unscoredCandidates(candidates: Candidates, findEarlier: FindEarlier): Candidates {
  async function* split(targetCount: number): AsyncGenerator<{ untried: TargetRef[]; failed: TargetRef[] }> {
    for await (const page of candidates.pages(targetCount)) {
      const earlier = await findEarlier(page.map(targetIdOf));
      yield {
        untried: page.filter((one) => !earlier.has(targetIdOf(one))),
        failed: page.filter((one) => earlier.get(targetIdOf(one)) === false),
      };
    }
  }
  return {
    async *pages(targetCount) {
      const retries: TargetRef[] = [];
      for await (const { untried, failed } of split(targetCount)) {
        retries.push(...failed.slice(0, targetCount - retries.length));
        yield untried;
      }
      for (let at = 0; at < retries.length; at += PAGE_MAX) yield retries.slice(at, at + PAGE_MAX);
    },
    async count() {
      let count = 0;
      for await (const { untried, failed } of split(PAGE_MAX)) count += untried.length + failed.length;
      return count;
    },
  };
}
