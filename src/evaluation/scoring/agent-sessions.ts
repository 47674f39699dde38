import type { Scope } from '#platform/auth';
import type { AgentSelection, SessionDirectory } from '../../agents';
import type { SessionRef, TraceStore } from '../../telemetry';
import type { Candidate, Candidates } from './candidates';

/** Traces that are looked at before all are. */
const TRACES_FIRST = 1_000;

/**
 * The sessions of agents, however many there are, newest first by when something was said, or traced, in them last. What
 * is read of them goes by how many are taken, and by the traces of the workspace that are newer than those.
 */
export class AgentSessions implements Candidates {
  constructor(
    private readonly traces: TraceStore,
    private readonly agents: SessionDirectory,
    private readonly scope: Scope,
    private readonly selection: AgentSelection,
  ) {}

  async first(limit: number): Promise<Candidate[]> {
    const said = await this.agents.newestSessions(this.scope, this.selection, limit);
    // where as many are known as are wanted, traces matter that began after the last of them
    const bound = said.length === limit ? said.at(-1)?.last_message_at : undefined;
    const since = later(this.selection.since, bound);
    const traced = await this.newestTraced(since, limit);
    const newest = new Map(said.map(({ session_id, last_message_at }) => [session_id, last_message_at]));
    for (const { session_id, last_started_at } of traced) {
      if (!((newest.get(session_id) ?? 0) >= last_started_at)) newest.set(session_id, last_started_at);
    }
    return [...newest]
      .sort(([, one], [, other]) => other.getTime() - one.getTime())
      .slice(0, limit)
      .map(([session_id]) => ({ trace_id: null, session_id }));
  }

  /** Those by what was said in them, and those by their traces alone. */
  async count(): Promise<number> {
    const { since, until } = this.selection;
    const said = await this.agents.countSessions(this.scope, this.selection);
    if (!since && !until) return said;
    const { agentIds, among = [] } = this.selection;
    const others = this.agents.idsOfOthers(this.scope, agentIds, { since, until });
    const selection = { ...this.traced({ since }), among: [...among, others] };
    return said + (await this.traces.countSelectedSessions(this.scope, selection));
  }

  /** Most selections end among the newest traces; only where they do not, all that began since are held against all. */
  private async newestTraced(since: Date | undefined, limit: number): Promise<SessionRef[]> {
    const { agentIds, until, among, except } = this.selection;
    const first = await this.traces.traceRefs(this.scope, { since, until }, TRACES_FIRST + 1);
    const isWhole = first.length <= TRACES_FIRST;
    const ids = [...new Set(first.flatMap(({ session_id }) => session_id ?? []))];
    const session_ids = await this.agents.sessionsAmong(this.scope, agentIds, ids);
    const found = await this.traces.sessionRefs(
      this.scope,
      { session_ids, since: isWhole ? since : first.at(-1)?.started_at, until, among, except },
      limit,
    );
    if (isWhole || found.length === limit) return found;
    return this.traces.sessionRefs(this.scope, this.traced({ since }), limit);
  }

  private traced({ since }: Pick<AgentSelection, 'since'>) {
    const { agentIds, until, among = [], except } = this.selection;
    return { since, until, except, among: [...among, this.agents.idsOf(this.scope, agentIds)] };
  }
}

const later = (one: Date | undefined, other: Date | undefined): Date | undefined =>
  one && other && one > other ? one : (other ?? one);
