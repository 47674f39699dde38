import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { retry, type RetryPolicy } from '#platform/concurrency';
import { RawJson, toJsonText } from '#platform/json';
import { type ScoredMessage, SessionDirectory } from '../../../agents';
import { type TraceRow, TraceStore } from '../../../telemetry';
import { firstUserContent, lastAssistantContent, messagesOfTraces, type SessionMessage } from '../../judges';
import { MAX_SUBJECT_LENGTH, type ScoringSubject } from '../../scorers';
import type { ScoringTarget } from '../runs/score-run.entity';
import {
  isUnread,
  jsonSize,
  type ShownSpans,
  spanViews,
  SUBJECT_MAX,
  SubjectBudget,
  totalsOf,
  traceView,
} from './subject-views';
import { type ResultContent, SubjectRepository } from './subject.repository';

/** Traces and messages of a session that a scorer sees, at most. */
const SESSION_TRACES_MAX = 100;
const MESSAGES_MAX = 1_000;

/** Stands for content that does not fit into the budget. */
const UNREAD = Symbol('unread');

/** The subject that a scorer sees, or the reason why it cannot be built. */
export type SubjectOrError = { subject: ScoringSubject } | { error: string };

/** A target whose trace and result have been read. `build` reads the rest. */
export interface PreparedTarget {
  target: ScoringTarget;
  build: () => Promise<SubjectOrError>;
}

/** The traces and results of a chunk of targets. */
interface ChunkContent {
  traces: Map<string, TraceRow>;
  results: Map<string, ResultContent>;
}

/** The part of a session that was read. */
interface Session {
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

/**
 * Builds the subject of a target, which is what a scorer sees: input, output, expected and metadata of the result that
 * names the target, or input and output of the root span; the trace with its spans; the session with its messages and
 * traces.
 *
 * Reads nothing beyond the budget. Required members take their share first, then spans and messages, then the trace's
 * copies of input and output. Objects with content that does not fit are marked `is_truncated`.
 */
@Injectable()
export class SubjectBuilder {
  constructor(
    private readonly traces: TraceStore,
    private readonly sessions: SessionDirectory,
    private readonly results: SubjectRepository,
  ) {}

  /** Yields targets in order. Reads the traces and results of a chunk of targets together. */
  async *prepare(
    scope: Scope,
    targets: readonly ScoringTarget[],
    chunkSize: number,
    policy: RetryPolicy,
  ): AsyncGenerator<PreparedTarget, undefined> {
    for (let at = 0; at < targets.length; at += chunkSize) {
      const chunk = targets.slice(at, at + chunkSize);
      const content = await retry(() => this.readChunk(scope, chunk), policy);
      for (const target of chunk) yield { target, build: () => this.build(scope, target, content) };
    }
  }

  private async readChunk(scope: Scope, targets: readonly ScoringTarget[]): Promise<ChunkContent> {
    const ids = targets.flatMap(({ trace_id }) => trace_id ?? []);
    const keys = targets.flatMap(({ result_experiment_id, result_id }) =>
      result_experiment_id !== null && result_id !== null
        ? { experimentId: result_experiment_id, resultId: result_id }
        : [],
    );
    const [traces, results] = await Promise.all([
      ids.length > 0 ? this.traces.findTraces(scope, ids, SUBJECT_MAX) : [],
      this.results.readResults(scope, keys, SUBJECT_MAX),
    ]);
    return {
      traces: new Map(traces.map((trace) => [trace.trace_id, trace])),
      results: new Map(results.map((result) => [result.result_id, result])),
    };
  }

  private async build(
    scope: Scope,
    target: ScoringTarget,
    { traces, results }: ChunkContent,
  ): Promise<SubjectOrError> {
    const result = target.result_id === null ? undefined : results.get(target.result_id);
    if (result && result.size > SUBJECT_MAX) return tooLarge('The result of the target');
    return target.trace_id === null
      ? this.buildSession(scope, target, result)
      : this.buildTrace(scope, target, traces.get(target.trace_id), result);
  }

  private async buildTrace(
    scope: Scope,
    target: ScoringTarget,
    trace: TraceRow | undefined,
    result: ResultContent | undefined,
  ): Promise<SubjectOrError> {
    const budget = new SubjectBudget();
    const content = result?.size ?? trace?.content_size ?? 0;
    if (!budget.take(content + (trace ? jsonSize(totalsOf(trace)) : 0))) {
      return tooLarge(result ? 'The result of the target' : 'The root span of the trace');
    }
    const spans = trace && (await this.readSpans(scope, trace, budget));
    const sessionId = target.session_id ?? trace?.session_id ?? result?.session_id ?? null;
    const session = sessionId === null ? null : await this.readSession(scope, sessionId, budget);
    const sessionView = session && (await this.showSession(scope, session, budget, { withSpans: false }));
    const source = result ?? trace;
    return {
      subject: {
        input: source?.input ?? null,
        output: source?.output ?? null,
        expected: result?.expected ?? null,
        metadata: result?.metadata ?? null,
        trace: trace ? traceView(trace, spans, budget) : null,
        session: sessionView,
      },
    };
  }

  private async buildSession(
    scope: Scope,
    target: ScoringTarget,
    result: ResultContent | undefined,
  ): Promise<SubjectOrError> {
    const budget = new SubjectBudget();
    const expected = result?.expected ?? null;
    const metadata = result?.metadata ?? null;
    budget.take(jsonSize(expected) + jsonSize(metadata));
    const session = await this.readSession(scope, target.session_id!, budget);
    const { messages } = session;
    const isStartUnread = messages.length === 0 && (session.isAgentSession || session.traces.some(isUnread));
    if (isStartUnread && !result) return tooLarge('The first message of the session');
    const input = messages.length > 0 ? firstUserContent(messages) : result?.input;
    const last = session.hasMore
      ? await this.lastAnswer(scope, session, budget)
      : lastAssistantContent(messages);
    if (last === UNREAD) return tooLarge('The last message of the session');
    const output = messages.length > 0 ? last : result?.output;
    if (!budget.take(jsonSize(input ?? null) + jsonSize(output ?? null))) {
      return tooLarge('The first and last message of the session together');
    }
    return {
      subject: {
        input: input ?? null,
        output: output ?? null,
        expected,
        metadata,
        session: await this.showSession(scope, session, budget, { withSpans: true }),
      },
    };
  }

  /** Reads an agent's messages or, without any, the messages of the first traces that fit into the budget. */
  private async readSession(scope: Scope, sessionId: string, budget: SubjectBudget): Promise<Session> {
    const [found, ofAgent] = await Promise.all([
      this.traces.sessionTraces(scope, sessionId, SESSION_TRACES_MAX + 1, budget.bytes),
      this.sessions.beginning(scope, sessionId, MESSAGES_MAX, budget.bytes),
    ]);
    const traces = found.slice(0, SESSION_TRACES_MAX);
    const unread = traces.findIndex(isUnread);
    const read = unread < 0 ? traces : traces.slice(0, unread);
    const messages = ofAgent ? ofAgent.messages.map(withoutNulls) : messagesOfTraces(read);
    return {
      sessionId,
      messages: messages.map(withJsonText),
      isAgentSession: ofAgent !== null,
      traces,
      traceCount:
        traces.length < found.length
          ? await this.traces.countSelectedTraces(scope, { session_ids: [sessionId] })
          : traces.length,
      readCount: read.length,
      hasMore: ofAgent ? !ofAgent.isWhole : read.length < found.length,
    };
  }

  /** Reads the last answer of a session whose last messages were not read. The last traces may have no answer. */
  private async lastAnswer(scope: Scope, session: Session, budget: SubjectBudget): Promise<unknown> {
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
      const answer = lastAssistantContent(messagesOfTraces([trace]));
      if (answer !== undefined) return answer;
    }
    const isAllRead = session.readCount + refs.length >= session.traceCount;
    return isAllRead ? lastAssistantContent(session.messages) : UNREAD;
  }

  private async showSession(
    scope: Scope,
    session: Session,
    budget: SubjectBudget,
    { withSpans }: { withSpans: boolean },
  ): Promise<object> {
    const messages = budget.first(session.messages.slice(0, MESSAGES_MAX), jsonSize);
    const traces = budget.first(session.traces, (trace) => jsonSize(totalsOf(trace)));
    const spans: (ShownSpans | undefined)[] = [];
    for (const trace of traces)
      spans.push(withSpans ? await this.readSpans(scope, trace, budget) : undefined);
    const isCut = session.hasMore || messages.length < session.messages.length;
    return {
      session_id: session.sessionId,
      messages,
      trace_count: session.traceCount,
      traces: traces.map((trace, index) => traceView(trace, spans[index], budget)),
      is_truncated: isCut || traces.length < session.traceCount,
    };
  }

  private async readSpans(scope: Scope, trace: TraceRow, budget: SubjectBudget): Promise<ShownSpans> {
    const found =
      budget.spans > 0 && budget.bytes > 0
        ? await this.traces.readSpans(scope, trace.trace_id, budget.spans + 1, budget.bytes)
        : [];
    const views = spanViews(found.slice(0, budget.spans), budget);
    budget.spans -= views.length;
    const isCut = views.length < Math.max(found.length, trace.span_count);
    return { views, isCut: isCut || views.some(({ is_truncated }) => is_truncated) };
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

const tooLarge = (what: string): { error: string } => ({
  error: `${what} exceeds ${MAX_SUBJECT_LENGTH / 1024 / 1024} MiB of JSON, the maximum input of a scorer.`,
});
