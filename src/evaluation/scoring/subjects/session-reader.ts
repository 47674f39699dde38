import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { RawJson, toJsonText } from '#platform/json';
import { type ScoredMessage, SessionDirectory } from '../../../agents';
import { type TraceRow, type TraceSpan, TraceStore } from '../../../telemetry';
import { Conversation, lastAssistantContent, messagesIn, type SessionMessage } from '../../judges';
import { isUnread, SUBJECT_MAX, type SubjectBudget } from './subject-views';

/** Traces and messages of a session that a scorer sees, at most. */
const SESSION_TRACES_MAX = 100;
export const MESSAGES_MAX = 1_000;
/** Calls of models whose messages are read, at most: of a session, and at the end of a trace. */
const SESSION_CALLS_MAX = 1_000;
const LAST_CALLS_MAX = 20;

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

  /** Reads an agent's messages or, without any, the messages of the first traces that fit into the budget. */
  async read(scope: Scope, sessionId: string, budget: SubjectBudget): Promise<Session> {
    const [found, ofAgent] = await Promise.all([
      this.traces.sessionTraces(scope, sessionId, SESSION_TRACES_MAX + 1, budget.bytes),
      this.sessions.beginning(scope, sessionId, MESSAGES_MAX, budget.bytes),
    ]);
    const traces = found.slice(0, SESSION_TRACES_MAX);
    const unread = traces.findIndex(isUnread);
    const read = unread < 0 ? traces : traces.slice(0, unread);
    const stored = ofAgent?.messages.map(withoutNulls) ?? [];
    // an agent's session begins with its prompt, whether or not further messages are stored
    const isAnswered = stored.some(({ role }) => role === 'assistant');
    const ofTraces =
      isAnswered || ofAgent?.isWhole === false ? undefined : await this.messagesOf(scope, read, budget);
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
      readCount: read.length,
      hasMore: ofTraces ? read.length < found.length || ofTraces.isCut : !ofAgent!.isWhole,
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

  /** Reads the messages of traces. The calls of a trace are read only if its root span lacks the input or the output. */
  private async messagesOf(
    scope: Scope,
    traces: readonly TraceRow[],
    budget: SubjectBudget,
  ): Promise<{ messages: SessionMessage[]; isCut: boolean }> {
    const silent = traces.filter(({ input, output }) => input === null || output === null);
    const calls =
      silent.length === 0
        ? []
        : await this.traces.readSpans(
            scope,
            silent.map(({ trace_id }) => trace_id),
            { limit: SESSION_CALLS_MAX, maxBytes: budget.bytes, callsOnly: true },
          );
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
