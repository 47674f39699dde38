import type { Scope } from '#platform/auth';
import type { AgentSelection, SessionDirectory, SessionRef } from '../../../agents';
import type { TraceStore } from '../../../telemetry';
import {
  type Candidates,
  countPages,
  PAGE_MAX,
  pageSizes,
  readPages,
  type Selection,
  tracePages,
} from './candidates';
import type { TargetRef } from './target.entity';

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
    const byMessage = new SessionCursor(this.pagesByMessage(targetCount));
    const byTrace = new SessionCursor(this.pagesByTrace(targetCount));
    for (let size = Math.min(targetCount, PAGE_MAX); ; size = Math.min(size * 2, PAGE_MAX)) {
      const page: TargetRef[] = [];
      while (page.length < size) {
        await byMessage.load();
        if (byMessage.next || !this.haveMessages) await byTrace.load(byMessage.next?.at);
        const isByTrace = byTrace.next && !(byMessage.next && byMessage.next.at >= byTrace.next.at);
        const newest = isByTrace ? byTrace.take() : byMessage.take();
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
    return countPages(this.pages(PAGE_MAX));
  }

  /**
   * Whether every session matches by its messages. With `since` or `until`, a session may match only by its traces. With
   * `filters`, sessions always match only by their traces.
   */
  private get haveMessages(): boolean {
    return !this.selection.since && !this.selection.until && !this.selection.filters;
  }

  private async *pagesByMessage(targetCount: number): AsyncGenerator<DatedPage, undefined> {
    if (this.selection.filters) return;
    const pages = readPages<SessionRef>(pageSizes(targetCount), (size, last) =>
      this.agents.newestSessions(this.scope, this.selection, size, last),
    );
    for await (const refs of pages) {
      const sessions = refs.map(({ session_id, last_message_at }) => ({ session_id, at: last_message_at }));
      yield { sessions, reached: sessions.at(-1)?.at };
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
