import type { Scope } from '#platform/auth';
import type { AgentSelection, SessionDirectory, SessionRef } from '../../agents';
import type { SessionRef as TracedSession, TraceRef, TraceSelection, TraceStore } from '../../telemetry';
import type { Grain } from '../scorers';

/** A trace or session that could be scored. */
export interface Candidate {
  trace_id: string | null;
  session_id: string | null;
}

export const targetIdOf = ({ trace_id, session_id }: Candidate): string => (trace_id ?? session_id)!;

/** The candidates of a selection, each once, in the order in which they are taken. */
export interface Candidates {
  /** Reads them page by page: first as many as wanted, then more. A page may be empty. */
  pages(wanted: number): AsyncIterable<Candidate[]> | Iterable<Candidate[]>;
  count(): Promise<number>;
}

/** Candidates read at once, at least and at most. */
const PAGE_MIN = 100;
const PAGE_MAX = 5_000;
/** Sessions of the trace store read at once, at least and at most. Each read groups all traces of the selection. */
const SESSIONS_MIN = 1_000;
const SESSIONS_MAX = 20_000;

/** Sizes of pages: the first is as large as wanted, each next one is twice as large. */
function* pageSizes(wanted: number, min = PAGE_MIN, max = PAGE_MAX): Generator<number, never> {
  for (let size = Math.max(wanted, min); ; size *= 2) yield Math.min(size, max);
}

/** Returns the first candidates, at most `limit`. One that moves while pages are read is taken once. */
export async function firstOf(candidates: Candidates, limit: number): Promise<Candidate[]> {
  const first = new Map<string, Candidate>();
  for await (const page of candidates.pages(limit)) {
    for (const candidate of page) first.set(targetIdOf(candidate), candidate);
    if (first.size >= limit) break;
  }
  return [...first.values()].slice(0, limit);
}

async function countOf(candidates: Pick<Candidates, 'pages'>): Promise<number> {
  let count = 0;
  for await (const page of candidates.pages(PAGE_MAX)) count += page.length;
  return count;
}

/** Candidates whose ids are all known. */
export class ListedCandidates implements Candidates {
  constructor(private readonly all: readonly Candidate[]) {}

  *pages(wanted: number): Generator<Candidate[]> {
    let at = 0;
    for (const size of pageSizes(wanted)) {
      if (at >= this.all.length) return;
      yield this.all.slice(at, (at += size));
    }
  }

  count(): Promise<number> {
    return Promise.resolve(this.all.length);
  }
}

/** Traces of the trace store, or their sessions, newest first. */
export class StoredCandidates implements Candidates {
  constructor(
    private readonly traces: TraceStore,
    private readonly scope: Scope,
    private readonly grain: Grain,
    private readonly selection: TraceSelection,
  ) {}

  pages(wanted: number): AsyncIterable<Candidate[]> {
    return this.grain === 'trace'
      ? tracePages(this.traces, this.scope, this.selection, wanted)
      : this.sessionPages(wanted);
  }

  count(): Promise<number> {
    return this.grain === 'trace'
      ? this.traces.countSelectedTraces(this.scope, this.selection)
      : this.traces.countSelectedSessions(this.scope, this.selection);
  }

  private async *sessionPages(wanted: number): AsyncGenerator<Candidate[]> {
    let last: TracedSession | undefined;
    for (const size of pageSizes(wanted, SESSIONS_MIN, SESSIONS_MAX)) {
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
  wanted: number,
): AsyncGenerator<TraceRef[]> {
  let last: TraceRef | undefined;
  for (const size of pageSizes(wanted)) {
    const refs = await traces.traceRefs(scope, selection, size, last);
    yield refs;
    last = refs.at(-1);
    if (refs.length < size) return;
  }
}

/** A session, and the time that it is sorted by. */
interface Dated {
  session_id: string;
  at: Date;
}

/** A page of sessions, newest first. Every session of the next pages is no newer than `reached`. */
interface DatedPage {
  sessions: Dated[];
  reached: Date | undefined;
}

/**
 * The sessions of agents, however many there are, newest first by their last message or trace. The cost grows with the
 * number of sessions taken, and of traces in the workspace that are newer than those.
 */
export class AgentSessions implements Candidates {
  constructor(
    private readonly traces: TraceStore,
    private readonly agents: SessionDirectory,
    private readonly scope: Scope,
    private readonly selection: AgentSelection,
  ) {}

  /** Merges the sessions by message with those by trace. The first occurrence of a session is its newest. */
  async *pages(wanted: number): AsyncGenerator<Candidate[]> {
    const seen = new Set<string>();
    const [byMessage, byTrace] = [new Ahead(this.byMessage(wanted)), new Ahead(this.byTrace(wanted))];
    for (let size = wanted; ; size = Math.min(size * 2, PAGE_MAX)) {
      const page: Candidate[] = [];
      while (page.length < size) {
        await byMessage.load();
        if (byMessage.next || !this.isComplete) await byTrace.load(byMessage.next?.at);
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

  count(): Promise<number> {
    return this.isComplete ? this.agents.countSessions(this.scope, this.selection) : countOf(this);
  }

  /** Whether every session counts by its messages. With times, a session may count by its traces alone. */
  private get isComplete(): boolean {
    return !this.selection.since && !this.selection.until;
  }

  private async *byMessage(wanted: number): AsyncGenerator<DatedPage, undefined> {
    let last: SessionRef | undefined;
    for (const size of pageSizes(wanted)) {
      const found = await this.agents.newestSessions(this.scope, this.selection, size, last);
      last = found.at(-1);
      const sessions = found.map(({ session_id, last_message_at }) => ({ session_id, at: last_message_at }));
      yield { sessions, reached: last?.last_message_at };
      if (found.length < size) return;
    }
  }

  private async *byTrace(wanted: number): AsyncGenerator<DatedPage, undefined> {
    const { agentIds, since, until } = this.selection;
    for await (const refs of tracePages(this.traces, this.scope, { since, until }, wanted)) {
      const ids = [...new Set(refs.flatMap(({ session_id }) => session_id ?? []))];
      const ofAgents = new Set(await this.agents.sessionsAmong(this.scope, agentIds, ids));
      const sessions = refs.flatMap(({ session_id, started_at }) =>
        session_id !== null && ofAgents.has(session_id) ? { session_id, at: started_at } : [],
      );
      yield { sessions, reached: refs.at(-1)?.started_at };
    }
  }
}

const isNewer = (one: Dated | undefined, other: Dated | undefined): boolean =>
  one !== undefined && (!other || one.at > other.at);

/** Takes sessions from pages, loading no more pages than needed. */
class Ahead {
  private sessions: Dated[] = [];
  private at = 0;
  private reached: Date | undefined;
  private isDone = false;

  constructor(private readonly pages: AsyncGenerator<DatedPage, undefined>) {}

  get next(): Dated | undefined {
    return this.sessions[this.at];
  }

  take(): Dated | undefined {
    return this.sessions[this.at++];
  }

  /** Loads pages until there is a session, or until none can be newer than `than`. */
  async load(than?: Date): Promise<void> {
    while (!this.isDone && !this.next && !(than && this.reached && this.reached <= than)) {
      const { value, done } = await this.pages.next();
      this.isDone = done === true;
      if (value) [this.sessions, this.at, this.reached] = [value.sessions, 0, value.reached];
    }
  }
}

/** Tells, for each target that a scorer version has met, whether it is scored or part of an open run. */
export type FindEarlier = (targetIds: readonly string[]) => Promise<ReadonlyMap<string, boolean>>;

/**
 * Candidates that a scorer version has neither scored nor is about to score. Failed ones come after those it never
 * tried, so that repeated requests make progress even when some targets always fail. Of these only as many are kept and
 * returned as are wanted.
 */
export function unscoredOf(candidates: Candidates, findEarlier: FindEarlier): Candidates {
  async function* split(wanted: number): AsyncGenerator<{ untried: Candidate[]; failed: Candidate[] }> {
    for await (const page of candidates.pages(wanted)) {
      const earlier = await findEarlier(page.map(targetIdOf));
      yield {
        untried: page.filter((one) => !earlier.has(targetIdOf(one))),
        failed: page.filter((one) => earlier.get(targetIdOf(one)) === false),
      };
    }
  }
  return {
    async *pages(wanted) {
      const kept: Candidate[] = [];
      for await (const { untried, failed } of split(wanted)) {
        kept.push(...failed.slice(0, wanted - kept.length));
        yield untried;
      }
      yield kept;
    },
    async count() {
      let count = 0;
      for await (const { untried, failed } of split(PAGE_MAX)) count += untried.length + failed.length;
      return count;
    },
  };
}
