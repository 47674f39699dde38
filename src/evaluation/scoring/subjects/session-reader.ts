import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { RawJson, toJsonText } from '#platform/json';
import { type ScoredMessage, SessionDirectory } from '../../../agents';
import {
  mayBeCall,
  type TraceRow,
  type TraceSpan,
  type TracesTogether,
  TraceStore,
} from '../../../telemetry';
import { Conversation, lastAssistantContent, messagesIn, type SessionMessage } from '../../judges';
import { isUnread, SUBJECT_MAX, type SubjectBudget } from './subject-views';

/** Traces and messages of a session that a scorer sees, at most. */
export const SESSION_TRACES_MAX = 100;
export const MESSAGES_MAX = 1_000;
/** Calls of models whose messages are read, at most: of a session, and at the end of a trace. */
const SESSION_CALLS_MAX = 1_000;
const LAST_CALLS_MAX = 20;

/** What was read together for several targets, so that it need not be read for each. */
export interface KnownContent extends Pick<TracesTogether, 'sessions' | 'spans'> {
  /** The sessions of agents among those of the targets. Undefined if this is unknown. */
  ofAgents?: ReadonlySet<string>;
}

export const NOTHING_KNOWN: KnownContent = { sessions: new Map(), spans: new Map() };

/** Returns the size of what spans or traces contain, in bytes of JSON. */
export const contentSizeOf = (read: readonly { content_size: number }[]): number =>
  read.reduce((sum, { content_size }) => sum + content_size, 0);

/** Stands for content that does not fit into the budget. */
export const UNREAD = Symbol('unread');

/** The part of a session that was read. */
export interface Session {
  sessionId: string;
  messages: SessionMessage[];
  /** Whether the messages come from an agent's session. Otherwise they come from the session's traces. */
  isAgentSession: boolean;
  traces: TraceRow[];
  traceCount: number;
  /** Number of traces whose messages were read, from the first. */
  readCount: number;
  /** Whether messages are missing, because they are too many or too large, or belong to traces that were not read. */
  hasMore: boolean;
}

/** Reads what was said in sessions and traces. */
@Injectable()
export class SessionReader {
  constructor(
    private readonly traces: TraceStore,
    private readonly sessions: SessionDirectory,
  ) {}

  /** Returns the sessions of agents among these. */
  async agentSessionsAmong(scope: Scope, sessionIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (sessionIds.length === 0) return new Set();
    return new Set((await this.sessions.lastMessages(scope, sessionIds)).keys());
  }

  /** Reads an agent's messages or, without any, the messages of the first traces that fit into the budget. */
  async read(scope: Scope, sessionId: string, budget: SubjectBudget, known: KnownContent): Promise<Session> {
    const read = known.sessions.get(sessionId);
    const fits = read && contentSizeOf(read) <= budget.bytes;
    const isOfAgent = known.ofAgents?.has(sessionId) ?? true;
    const [found, ofAgent] = await Promise.all([
      fits ? read : this.traces.sessionTraces(scope, sessionId, SESSION_TRACES_MAX + 1, budget.bytes),
      isOfAgent ? this.sessions.beginning(scope, sessionId, MESSAGES_MAX, budget.bytes) : null,
    ]);
    const traces = found.slice(0, SESSION_TRACES_MAX);
    const unread = traces.findIndex(isUnread);
    const firstTraces = unread < 0 ? traces : traces.slice(0, unread);
    const stored = ofAgent?.messages.map(withoutNulls) ?? [];
    // an agent's session begins with its prompt, whether or not further messages are stored
    const isAnswered = stored.some(({ role }) => role === 'assistant');
    const ofTraces =
      isAnswered || ofAgent?.isWhole === false
        ? undefined
        : await this.messagesOf(scope, firstTraces, budget, known);
    const isOfTraces = ofTraces !== undefined && ofTraces.messages.length > 0;
    return {
      sessionId,
      messages: (isOfTraces ? ofTraces.messages : stored).map(withJsonText),
      isAgentSession: ofAgent !== null && !isOfTraces,
      traces,
      traceCount:
        traces.length < found.length
          ? await this.traces.countSelectedTraces(scope, { session_ids: [sessionId] })
          : traces.length,
      readCount: firstTraces.length,
      hasMore: ofTraces ? firstTraces.length < found.length || ofTraces.isCut : !ofAgent!.isWhole,
    };
  }

  /** Reads the last answer of a session whose last messages were not read. The last traces may have no answer. */
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
        (await this.lastAnswerOfCalls(scope, trace_id));
      if (answer !== undefined) return answer;
    }
    const isAllRead = session.readCount + refs.length >= session.traceCount;
    return isAllRead ? lastAssistantContent(session.messages) : UNREAD;
  }

  /** Reads the last assistant message among the last model calls of a trace. */
  async lastAnswerOfCalls(scope: Scope, traceId: string): Promise<unknown> {
    const spans = await this.traces.readSpans(scope, [traceId], {
      limit: LAST_CALLS_MAX,
      maxBytes: SUBJECT_MAX,
      callsOnly: true,
      fromEnd: true,
    });
    return lastAssistantContent(new Conversation().add({ spans }));
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
    known: KnownContent,
  ): Promise<{ messages: SessionMessage[]; isCut: boolean }> {
    const silent = traces.filter(({ input, output }) => input === null || output === null);
    const calls = knownCalls(silent, known, budget) ?? (await this.readCalls(scope, silent, budget));
    const callsOf = new Map<string, TraceSpan[]>();
    for (const call of calls) {
      const ofTrace = callsOf.get(call.trace_id);
      if (ofTrace) ofTrace.push(call);
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

/** Returns the calls of models of traces, by trace and start. Undefined if they were not read, or exceed the budget. */
function knownCalls(
  traces: readonly TraceRow[],
  { spans }: KnownContent,
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
