import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { RawJson, toJsonText } from '#platform/json';
import { type ScoredMessage, SessionDirectory } from '../../../agents';
import { mayBeCall, type TraceRow, type TraceSpan, type TraceBatch, TraceStore } from '../../../telemetry';
import {
  Conversation,
  isUnread,
  lastAssistantContent,
  messagesIn,
  type SessionMessage,
  TraceContentReader,
} from '../../trace-content';
import type { SubjectBudget } from './subject-views';

/** Maximum numbers of traces and messages of a session that a scorer sees. */
export const SESSION_TRACES_MAX = 100;
export const MESSAGES_MAX = 1_000;
/** Maximum number of model calls of a session whose messages are read. */
const SESSION_CALLS_MAX = 1_000;

/** Content that was read ahead for several targets together. */
export interface PrefetchedContent extends Pick<TraceBatch, 'sessions' | 'spans'> {
  /** The sessions of the targets that are agents' sessions. Undefined if unknown. */
  agentSessions?: ReadonlySet<string>;
}

export const NOTHING_PREFETCHED: PrefetchedContent = { sessions: new Map(), spans: new Map() };

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

/** Reads the messages of sessions. */
@Injectable()
export class SessionReader {
  constructor(
    private readonly traces: TraceStore,
    private readonly sessions: SessionDirectory,
    private readonly contents: TraceContentReader,
  ) {}

  /** Returns which of these sessions are agents' sessions. */
  async filterAgentSessions(scope: Scope, sessionIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (sessionIds.length === 0) return new Set();
    return new Set((await this.sessions.lastMessages(scope, sessionIds)).keys());
  }

  /** Reads the messages of an agent's session or, without any, of the first traces that fit into the budget. */
  async read(
    scope: Scope,
    sessionId: string,
    budget: SubjectBudget,
    prefetched: PrefetchedContent,
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

  private readCalls(scope: Scope, traces: readonly TraceRow[], budget: SubjectBudget): Promise<TraceSpan[]> {
    const reading = { limit: SESSION_CALLS_MAX, maxBytes: budget.bytes, callsOnly: true };
    return this.traces.readSpans(
      scope,
      traces.map(({ trace_id }) => trace_id),
      reading,
    );
  }

  /** Reads the messages of traces. The calls of a trace are read only if its root span lacks the input or the output. */
  private async messagesOf(
    scope: Scope,
    traces: readonly TraceRow[],
    budget: SubjectBudget,
    prefetched: PrefetchedContent,
  ): Promise<{ messages: SessionMessage[]; isCut: boolean }> {
    const incomplete = traces.filter(({ input, output }) => input === null || output === null);
    const calls =
      prefetchedCalls(incomplete, prefetched, budget) ?? (await this.readCalls(scope, incomplete, budget));
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

/** Returns the model calls of traces, by trace and start. Undefined if they were not read ahead, or exceed the budget. */
function prefetchedCalls(
  traces: readonly TraceRow[],
  { spans }: PrefetchedContent,
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
