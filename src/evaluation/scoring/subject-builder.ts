import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { RawJson, toJsonText } from '#platform/json';
import { SessionDirectory, type ToldMessage } from '../../agents';
import { type TraceRow, TraceStore } from '../../telemetry';
import { MAX_SUBJECT_LENGTH } from '../scorers/engine/limits';
import type { ScoringSubject } from '../scorers/engine/score-outcome';
import { impatient, type Patience } from './patience';
import type { ScoringTarget } from './score-run.entity';
import type { SessionMessage } from './session-message';
import { firstUserContent, lastAssistantContent, messagesOfTraces } from './session-messages';
import { jsonSize, Room, SUBJECT_MAX } from './subject-room';
import { isUnread, type ShownSpans, spanViews, totalsOf, traceView } from './subject-views';
import { type NamingResultContent, SubjectRepository } from './subject.repository';

/** Traces of a session that a scorer sees, and messages of one, at most. */
export const SESSION_TRACES_MAX = 100;
export const MESSAGES_MAX = 1_000;

/** In place of what there is no room to read. */
const UNREAD = Symbol('unread');

/** What a scorer sees of a target, or why it cannot be shown. */
export type Shown = { subject: ScoringSubject } | { error: string };

/** A target of which what its neighbours share is read; `show` reads the rest. */
export interface PreparedTarget {
  target: ScoringTarget;
  show: () => Promise<Shown>;
}

interface Shared {
  traces: Map<string, TraceRow>;
  results: Map<string, NamingResultContent>;
}

/** What is known of a session, before any of it is shown. */
interface Session {
  sessionId: string;
  messages: SessionMessage[];
  /** They are kept with an agent's session; else they are what its traces tell. */
  isKept: boolean;
  traces: TraceRow[];
  traceCount: number;
  /** How many of its first traces were read for messages. */
  toldCount: number;
  /** There are messages beyond these: more, or larger ones, than are shown, or in traces that were not read. */
  goesOn: boolean;
}

/**
 * Shows a target to a scorer: input, output, expected and metadata of the result that names it, else what the root
 * span was given and answered; the trace with its spans; the session with its messages and traces.
 *
 * Nothing is read that there is no room for. What has to be shown takes its room first; then what more there is to know
 * (spans, messages), and last a trace's copies of what the subject has already. What finds none is left out, and the
 * object that lacks it says `is_truncated`.
 */
@Injectable()
export class SubjectBuilder {
  constructor(
    private readonly traces: TraceStore,
    private readonly sessions: SessionDirectory,
    private readonly results: SubjectRepository,
  ) {}

  /** Prepares targets, a chunk at a time: rows of several targets are read by one statement. */
  async *prepare(
    scope: Scope,
    targets: readonly ScoringTarget[],
    chunkSize: number,
    patience: Patience = impatient,
  ): AsyncGenerator<PreparedTarget, undefined> {
    for (let at = 0; at < targets.length; at += chunkSize) {
      const chunk = targets.slice(at, at + chunkSize);
      const shared = await patience(() => this.readShared(scope, chunk));
      for (const target of chunk) yield { target, show: () => this.build(scope, target, shared) };
    }
  }

  private async readShared(scope: Scope, targets: readonly ScoringTarget[]): Promise<Shared> {
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

  private async build(scope: Scope, target: ScoringTarget, { traces, results }: Shared): Promise<Shown> {
    const result = target.result_id === null ? undefined : results.get(target.result_id);
    if (result && result.size > SUBJECT_MAX) return tooLarge('The result that names it');
    return target.trace_id === null
      ? this.ofSession(scope, target, result)
      : this.ofTrace(scope, target, traces.get(target.trace_id), result);
  }

  private async ofTrace(
    scope: Scope,
    target: ScoringTarget,
    trace: TraceRow | undefined,
    result: NamingResultContent | undefined,
  ): Promise<Shown> {
    const room = new Room();
    const content = result?.size ?? trace?.content_size ?? 0;
    if (!room.take(content + (trace ? jsonSize(totalsOf(trace)) : 0))) {
      return tooLarge(result ? 'The result that names it' : 'Its root span');
    }
    const spans = trace && (await this.readSpans(scope, trace, room));
    const sessionId = target.session_id ?? trace?.session_id ?? result?.session_id ?? null;
    const session = sessionId === null ? null : await this.readSession(scope, sessionId, room);
    const sessionView = session && (await this.showSession(scope, session, room, { withSpans: false }));
    const seen = result ?? trace;
    return {
      subject: {
        input: seen?.input ?? null,
        output: seen?.output ?? null,
        expected: result?.expected ?? null,
        metadata: result?.metadata ?? null,
        trace: trace ? traceView(trace, spans, room) : null,
        session: sessionView,
      },
    };
  }

  private async ofSession(
    scope: Scope,
    target: ScoringTarget,
    result: NamingResultContent | undefined,
  ): Promise<Shown> {
    const room = new Room();
    const expected = result?.expected ?? null;
    const metadata = result?.metadata ?? null;
    room.take(jsonSize(expected) + jsonSize(metadata));
    const session = await this.readSession(scope, target.session_id!, room);
    const { messages } = session;
    const isBeginningUnread = messages.length === 0 && (session.isKept || session.traces.some(isUnread));
    if (isBeginningUnread && !result) return tooLarge('What was said first in it');
    const input = messages.length > 0 ? firstUserContent(messages) : result?.input;
    const last = session.goesOn
      ? await this.lastAnswer(scope, session, room)
      : lastAssistantContent(messages);
    if (last === UNREAD) return tooLarge('What was said last in it');
    const output = messages.length > 0 ? last : result?.output;
    if (!room.take(jsonSize(input ?? null) + jsonSize(output ?? null))) {
      return tooLarge('What was said first and last in it');
    }
    return {
      subject: {
        input: input ?? null,
        output: output ?? null,
        expected,
        metadata,
        session: await this.showSession(scope, session, room, { withSpans: true }),
      },
    };
  }

  /** A session as its agent keeps it, else as its first traces tell it, up to one that there is no room to read. */
  private async readSession(scope: Scope, sessionId: string, room: Room): Promise<Session> {
    const [found, kept] = await Promise.all([
      this.traces.sessionTraces(scope, sessionId, SESSION_TRACES_MAX + 1, room.bytes),
      this.sessions.beginning(scope, sessionId, MESSAGES_MAX, room.bytes),
    ]);
    const traces = found.slice(0, SESSION_TRACES_MAX);
    const hasMore = traces.length < found.length;
    const unread = traces.findIndex(isUnread);
    const told = unread < 0 ? traces : traces.slice(0, unread);
    const messages = kept ? kept.messages.map(asTold) : messagesOfTraces(told);
    return {
      sessionId,
      messages: messages.map(asWritten),
      isKept: kept !== null,
      traces,
      traceCount: hasMore
        ? await this.traces.countSelectedTraces(scope, { session_ids: [sessionId] })
        : traces.length,
      toldCount: told.length,
      goesOn: kept ? !kept.isWhole : told.length < found.length,
    };
  }

  /** What was answered last in a session that goes on beyond what was read of it: its last traces may have no answer. */
  private async lastAnswer(scope: Scope, session: Session, room: Room): Promise<unknown> {
    if (session.isKept) {
      const answer = await this.sessions.lastAnswer(scope, session.sessionId, room.bytes);
      return answer?.content === null ? UNREAD : answer?.content;
    }
    const selection = { session_ids: [session.sessionId] };
    const refs = await this.traces.traceRefs(scope, selection, SESSION_TRACES_MAX);
    for (const { trace_id } of refs) {
      const [trace] = await this.traces.findTraces(scope, [trace_id], room.bytes);
      if (!trace) continue;
      if (isUnread(trace)) return UNREAD;
      const answer = lastAssistantContent(messagesOfTraces([trace]));
      if (answer !== undefined) return answer;
    }
    const isAllRead = session.toldCount + refs.length >= session.traceCount;
    return isAllRead ? lastAssistantContent(session.messages) : UNREAD;
  }

  private async showSession(
    scope: Scope,
    session: Session,
    room: Room,
    { withSpans }: { withSpans: boolean },
  ): Promise<object> {
    const messages = room.first(session.messages.slice(0, MESSAGES_MAX), jsonSize);
    const traces = room.first(session.traces, (trace) => jsonSize(totalsOf(trace)));
    const spans: (ShownSpans | undefined)[] = [];
    for (const trace of traces) spans.push(withSpans ? await this.readSpans(scope, trace, room) : undefined);
    const isCut = session.goesOn || messages.length < session.messages.length;
    return {
      session_id: session.sessionId,
      messages,
      trace_count: session.traceCount,
      traces: traces.map((trace, index) => traceView(trace, spans[index], room)),
      is_truncated: isCut || traces.length < session.traceCount,
    };
  }

  private async readSpans(scope: Scope, trace: TraceRow, room: Room): Promise<ShownSpans> {
    const found =
      room.spans > 0 && room.bytes > 0
        ? await this.traces.readSpans(scope, trace.trace_id, room.spans + 1, room.bytes)
        : [];
    const views = spanViews(found.slice(0, room.spans), room);
    room.spans -= views.length;
    const isCut = views.length < Math.max(found.length, trace.span_count);
    return { views, isCut: isCut || views.some(({ is_truncated }) => is_truncated) };
  }
}

/** What an agent's session has of a message; what it has not is left out. */
const asTold = ({ tool_calls, tool_call_id, name, ...message }: ToldMessage): SessionMessage => ({
  ...message,
  ...(tool_calls !== null && { tool_calls }),
  ...(tool_call_id !== null && { tool_call_id }),
  ...(name !== null && { name }),
});

/** What is kept of a message is its text, which takes less memory than its value, and is what goes out. */
const asWritten = (message: SessionMessage): SessionMessage => ({
  ...message,
  content: new RawJson(toJsonText(message.content ?? null)),
  ...(message.tool_calls !== undefined && { tool_calls: new RawJson(toJsonText(message.tool_calls)) }),
});

const tooLarge = (what: string): { error: string } => ({
  error: `${what} makes more than ${MAX_SUBJECT_LENGTH / 1024 / 1024} MiB of JSON, which is more than a scorer is shown.`,
});
