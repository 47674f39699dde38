import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { RawJson, toJsonText } from '#platform/json';
import { type ScoredMessage, SessionDirectory } from '../../../agents';
import {
  Conversation,
  lastAssistantContent,
  mayBeCall,
  messagesIn,
  type SessionMessage,
  type TraceBatch,
  type TraceRow,
  type TraceSpan,
  TraceStore,
} from '../../../telemetry';
import type { Grain } from '../../scorers';
import { isUnread, TraceContentReader } from '../../trace-content';
import { SUBJECT_MAX, type SubjectBudget } from './subject-views';
import type { ScoringTarget } from './target.entity';
import { type ResultContent, TargetRepository } from './target.repository';

/** Maximum numbers of traces and messages of a session that a scorer sees. */
const SESSION_TRACES_MAX = 100;
export const MESSAGES_MAX = 1_000;
/** Maximum number of model calls of a session whose messages are read. */
const SESSION_CALLS_MAX = 1_000;

/** Returns the total content size of spans or traces, in bytes of JSON. */
export const contentSizeOf = (read: readonly { content_size: number }[]): number =>
  read.reduce((sum, { content_size }) => sum + content_size, 0);

/** Marks content that does not fit into the budget. */
export const UNREAD = Symbol('unread');

/** The part of a session that was read. */
export interface Session {
  sessionId: string;
  messages: SessionMessage[];
  /** Whether the messages come from an agent's session. Otherwise they come from the session's traces. */
  isAgentSession: boolean;
  traces: TraceRow[];
  traceCount: number;
  /** Number of traces whose messages were read, starting from the first. */
  readCount: number;
  /** Whether messages are missing, because they are too many or too large, or belong to traces that were not read. */
  hasMore: boolean;
}

/** The traces and results of a chunk of targets, with the sessions and spans that were read ahead for them together. */
export interface ChunkContent extends Pick<TraceBatch, 'sessions' | 'spans'> {
  traces: Map<string, TraceRow>;
  results: Map<string, ResultContent>;
  /** The sessions of the targets that are agents' sessions. Undefined if unknown. */
  agentSessions?: ReadonlySet<string>;
}

const NOTHING_PREFETCHED = { sessions: new Map(), spans: new Map() };

/** Limits for reading ahead, per target. Larger content is read separately for its target. */
const PER_TARGET = { spans: 125, bytes: 128 * 1024 };
/** Smaller chunks get the limits of this many targets. */
const MIN_TARGETS = 8;

/** Largest content of a chunk that allows the next chunk to be read ahead, in bytes. */
const SMALL = 4 * 1024 * 1024;

/** Reads the content of targets: the traces, results and small sessions of several together, and large ones separately. */
@Injectable()
export class SubjectReader {
  constructor(
    private readonly traces: TraceStore,
    private readonly contents: TraceContentReader,
    private readonly sessions: SessionDirectory,
    private readonly targets: TargetRepository,
  ) {}

  /** Reads the traces and results of targets. */
  async readChunk(scope: Scope, targets: readonly ScoringTarget[]): Promise<ChunkContent> {
    const ids = traceIdsOf(targets);
    const [traces, results] = await Promise.all([
      ids.length > 0 ? this.traces.findTraces(scope, ids, SUBJECT_MAX) : [],
      this.targets.readResults(scope, targets, SUBJECT_MAX),
    ]);
    return { traces: byId(traces), results, ...NOTHING_PREFETCHED };
  }

  /**
   * Reads the traces and results of targets, and small sessions and spans ahead, so that a target needs few or no further
   * reads.
   */
  async prepareChunk(scope: Scope, grain: Grain, targets: readonly ScoringTarget[]): Promise<ChunkContent> {
    const results = await this.targets.readResults(scope, targets, SUBJECT_MAX);
    const sessionsOf = (traces: readonly TraceRow[]): string[] => {
      const read = byId(traces);
      return targets.flatMap((target) => sessionOf(target, read, results) ?? []);
    };
    const traceIds = traceIdsOf(targets);
    if (traceIds.length === 0 && sessionsOf([]).length === 0) {
      return { traces: new Map(), results, ...NOTHING_PREFETCHED };
    }
    const request = { traceIds, sessionsOf, withSpansOfSessions: grain === 'session' };
    const shares = Math.max(MIN_TARGETS, targets.length);
    const { traces, sessions, spans } = await this.traces.readBatch(scope, request, {
      maxBytes: SUBJECT_MAX,
      sessionTraces: SESSION_TRACES_MAX,
      spans: PER_TARGET.spans * shares,
      bytes: PER_TARGET.bytes * shares,
    });
    const sessionIds = [...new Set(sessionsOf(traces))];
    const ofAgents = sessionIds.length > 0 ? await this.sessions.lastMessages(scope, sessionIds) : new Map();
    const agentSessions = new Set<string>(ofAgents.keys());
    return { traces: byId(traces), results, sessions, spans, agentSessions };
  }

  /** Returns the trace and the result of a target. Reads content that did not fit into its chunk, but fits into a subject. */
  async readTarget(
    scope: Scope,
    { trace_id, result_experiment_id, result_id }: ScoringTarget,
    { traces, results }: ChunkContent,
  ): Promise<{ trace: TraceRow | undefined; result: ResultContent | undefined }> {
    const trace = await this.contents.withContent(scope, traces.get(trace_id!));
    let result = result_id === null ? undefined : results.get(result_id);
    if (result && isUnreadResult(result) && result.size <= SUBJECT_MAX) {
      const read = await this.targets.readResults(scope, [{ result_experiment_id, result_id }], SUBJECT_MAX);
      result = read.get(result.result_id);
    }
    return { trace, result };
  }

  /** Reads the messages of an agent's session or, without any, of the first traces that fit into the budget. */
  async readSession(
    scope: Scope,
    sessionId: string,
    budget: SubjectBudget,
    prefetched: ChunkContent,
  ): Promise<Session> {
    const read = prefetched.sessions.get(sessionId);
    const fits = read && contentSizeOf(read) <= budget.bytes;
    const mayBeAgentSession = prefetched.agentSessions?.has(sessionId) ?? true;
    const [allTraces, agentSession] = await Promise.all([
      fits ? read : this.traces.sessionTraces(scope, sessionId, SESSION_TRACES_MAX + 1, budget.bytes),
      mayBeAgentSession ? this.sessions.beginning(scope, sessionId, MESSAGES_MAX, budget.bytes) : null,
    ]);
    const traces = allTraces.slice(0, SESSION_TRACES_MAX);
    const unread = traces.findIndex(isUnread);
    const firstTraces = unread < 0 ? traces : traces.slice(0, unread);
    const stored = agentSession?.messages.map(withoutNulls) ?? [];
    // An agent's session starts with its prompt, even if no further messages are stored.
    const isAnswered = stored.some(({ role }) => role === 'assistant');
    const traceMessages =
      isAnswered || agentSession?.isWhole === false
        ? undefined
        : await this.messagesOf(scope, firstTraces, budget, prefetched);
    const isOfTraces = traceMessages !== undefined && traceMessages.messages.length > 0;
    return {
      sessionId,
      messages: (isOfTraces ? traceMessages.messages : stored).map(withJsonText),
      isAgentSession: agentSession !== null && !isOfTraces,
      traces,
      traceCount:
        traces.length < allTraces.length
          ? await this.traces.countSelectedTraces(scope, { session_ids: [sessionId] })
          : traces.length,
      readCount: firstTraces.length,
      hasMore: traceMessages
        ? firstTraces.length < allTraces.length || traceMessages.isCut
        : !agentSession!.isWhole,
    };
  }

  /** Reads the last answer of a session whose last messages were not read. Skips traces without an answer. */
  async lastAnswer(scope: Scope, session: Session, budget: SubjectBudget): Promise<unknown> {
    if (session.isAgentSession) {
      const answer = await this.sessions.lastAnswer(scope, session.sessionId, budget.bytes);
      return answer?.content === null ? UNREAD : answer?.content;
    }
    const selection = { session_ids: [session.sessionId] };
    const refs = await this.traces.traceRefs(scope, selection, SESSION_TRACES_MAX);
    for (const { trace_id } of refs) {
      const [trace] = await this.traces.findTraces(scope, [trace_id], budget.bytes);
      if (!trace) continue;
      if (isUnread(trace)) return UNREAD;
      const answer =
        lastAssistantContent(messagesIn(trace.output, 'assistant')) ??
        (await this.contents.lastAnswerOfCalls(scope, trace_id));
      if (answer !== undefined) return answer;
    }
    const isAllRead = session.readCount + refs.length >= session.traceCount;
    return isAllRead ? lastAssistantContent(session.messages) : UNREAD;
  }

  /** Reads the messages of traces. The calls of a trace are read only if its root span lacks the input or the output. */
  private async messagesOf(
    scope: Scope,
    traces: readonly TraceRow[],
    budget: SubjectBudget,
    prefetched: ChunkContent,
  ): Promise<{ messages: SessionMessage[]; isCut: boolean }> {
    const incomplete = traces.filter(({ input, output }) => input === null || output === null);
    const reading = { limit: SESSION_CALLS_MAX, maxBytes: budget.bytes, callsOnly: true };
    const calls =
      prefetchedCalls(incomplete, prefetched, budget) ??
      (await this.traces.readSpans(scope, traceIdsOf(incomplete), reading));
    const callsOf = new Map<string, TraceSpan[]>();
    for (const call of calls) {
      const traceCalls = callsOf.get(call.trace_id);
      if (traceCalls) traceCalls.push(call);
      else callsOf.set(call.trace_id, [call]);
    }
    const conversation = new Conversation();
    const messages = traces.flatMap(({ trace_id, input, output }) =>
      conversation.add({ trace_id, input, output, spans: callsOf.get(trace_id) }),
    );
    const isCut = calls.length === SESSION_CALLS_MAX || calls.some(({ attributes }) => attributes === null);
    return { messages, isCut };
  }
}

const isUnreadResult = ({ size, input, output, expected, metadata }: ResultContent): boolean =>
  size > 0 && (input ?? output ?? expected ?? metadata) === null;

/** Tells whether the content is so small that the next chunk can be read ahead. */
export const isSmall = ({ traces, results }: ChunkContent): boolean => {
  const resultSize = [...results.values()].reduce((sum, { size }) => sum + size, 0);
  return contentSizeOf([...traces.values()]) + resultSize <= SMALL;
};

const byId = (traces: readonly TraceRow[]): Map<string, TraceRow> =>
  new Map(traces.map((trace) => [trace.trace_id, trace]));

const traceIdsOf = (targets: readonly Pick<ScoringTarget, 'trace_id'>[]): string[] => [
  ...new Set(targets.flatMap(({ trace_id }) => trace_id ?? [])),
];

/** Returns the session that a scorer sees of a target: of a trace, its own, even if it was selected by a result's. */
export const sessionIdOf = (
  { trace_id, session_id, result_id }: ScoringTarget,
  trace: TraceRow | undefined,
  result: ResultContent | undefined,
): string | null => {
  const isTrace = result_id === null && trace_id !== null;
  return (isTrace ? null : session_id) ?? trace?.session_id ?? result?.session_id ?? null;
};

const sessionOf = (
  target: ScoringTarget,
  traces: ReadonlyMap<string, TraceRow>,
  results: ReadonlyMap<string, ResultContent>,
): string | null => sessionIdOf(target, traces.get(target.trace_id!), results.get(target.result_id!));

/** Returns the model calls of traces, by trace and start. Undefined if they were not read ahead, or exceed the budget. */
function prefetchedCalls(
  traces: readonly TraceRow[],
  { spans }: ChunkContent,
  budget: SubjectBudget,
): TraceSpan[] | undefined {
  const calls: TraceSpan[] = [];
  for (const { trace_id } of traces) {
    const read = spans.get(trace_id);
    if (!read) return undefined;
    calls.push(...read.filter(mayBeCall));
  }
  return calls.length < SESSION_CALLS_MAX && contentSizeOf(calls) <= budget.bytes ? calls : undefined;
}

/** Removes the members of an agent's message that are null. */
const withoutNulls = ({ tool_calls, tool_call_id, name, ...message }: ScoredMessage): SessionMessage => ({
  ...message,
  ...(tool_calls !== null && { tool_calls }),
  ...(tool_call_id !== null && { tool_call_id }),
  ...(name !== null && { name }),
});

/** Turns the content of a message into JSON text, which takes less memory and is what the scorer gets. */
const withJsonText = (message: SessionMessage): SessionMessage => ({
  ...message,
  content: new RawJson(toJsonText(message.content ?? null)),
  ...(message.tool_calls !== undefined && { tool_calls: new RawJson(toJsonText(message.tool_calls)) }),
});
