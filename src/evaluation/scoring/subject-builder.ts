import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { RawJson } from '#platform/json';
import { type SpanRow, type TraceRow, TraceStore } from '../../telemetry';
import { MAX_SUBJECT_LENGTH } from '../scorers/engine/limits';
import type { ScoringSubject } from '../scorers/engine/score-outcome';
import { AgentSessions, type SessionMessage } from './agent-sessions';
import type { ScoringTarget } from './score-run.entity';
import { firstUserContent, lastAssistantContent, messagesOfTraces } from './session-messages';
import { type NamingResultContent, SubjectRepository } from './subject.repository';

/** Spans a scorer sees of one target, traces of a session, and messages of a session, at most. */
export const SPANS_MAX = 1_000;
export const SESSION_TRACES_MAX = 100;
export const MESSAGES_MAX = 1_000;
/** What a scorer sees of one target, in characters of JSON, at most. Spans beyond it are left out. */
export const SUBJECT_MAX = MAX_SUBJECT_LENGTH - 64 * 1024; // for the names of members and the like

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

/** Counts what of a subject's room is used. */
class Room {
  spans = SPANS_MAX;
  constructor(public chars: number) {}

  take(chars: number): boolean {
    this.chars -= chars;
    return this.chars >= 0;
  }
}

/**
 * Shows a target to a scorer: input, output, expected and metadata of the result that names it, else what the root
 * span was given and answered; the trace with its spans; the session with its messages and traces.
 */
@Injectable()
export class SubjectBuilder {
  constructor(
    private readonly traces: TraceStore,
    private readonly sessions: AgentSessions,
    private readonly results: SubjectRepository,
  ) {}

  /** Prepares targets, a chunk at a time: rows of several targets are read by one statement. */
  async *prepare(
    scope: Scope,
    targets: readonly ScoringTarget[],
    chunkSize: number,
  ): AsyncGenerator<PreparedTarget, undefined> {
    for (let at = 0; at < targets.length; at += chunkSize) {
      const chunk = targets.slice(at, at + chunkSize);
      const shared = await this.readShared(scope, chunk);
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
      ids.length > 0 ? this.traces.findTraces(scope, ids) : [],
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
    const room = new Room(SUBJECT_MAX - (result?.size ?? 0));
    return target.trace_id === null
      ? this.ofSession(scope, target, result, room)
      : this.ofTrace(scope, target, traces.get(target.trace_id), result, room);
  }

  private async ofTrace(
    scope: Scope,
    target: ScoringTarget,
    trace: TraceRow | undefined,
    result: NamingResultContent | undefined,
    room: Room,
  ): Promise<Shown> {
    if (trace && !room.take(contentSize(trace))) return tooLarge('Its root span');
    const shown = trace && (await this.withSpans(scope, trace, room));
    const sessionId = target.session_id ?? trace?.session_id ?? result?.session_id ?? null;
    const session = sessionId === null ? null : await this.readSession(scope, sessionId, room);
    const seen = result ?? trace;
    return {
      subject: {
        input: seen?.input ?? null,
        output: seen?.output ?? null,
        expected: result?.expected ?? null,
        metadata: result?.metadata ?? null,
        trace: shown ?? null,
        session: session?.view(session.traces.map(summaryOf)) ?? null,
      },
    };
  }

  private async ofSession(
    scope: Scope,
    target: ScoringTarget,
    result: NamingResultContent | undefined,
    room: Room,
  ): Promise<{ subject: ScoringSubject }> {
    const session = await this.readSession(scope, target.session_id!, room);
    const traces: object[] = [];
    for (const trace of session.traces) traces.push(await this.withSpans(scope, trace, room));
    const { messages } = session;
    return {
      subject: {
        input: messages.length > 0 ? (firstUserContent(messages) ?? null) : (result?.input ?? null),
        output: messages.length > 0 ? (lastAssistantContent(messages) ?? null) : (result?.output ?? null),
        expected: result?.expected ?? null,
        metadata: result?.metadata ?? null,
        trace: null,
        session: session.view(traces),
      },
    };
  }

  /** A session as its agent keeps it, else as its traces tell it. Traces without room are left out. */
  private async readSession(
    scope: Scope,
    sessionId: string,
    room: Room,
  ): Promise<{
    messages: SessionMessage[];
    traces: TraceRow[];
    view: (traces: object[]) => object;
  }> {
    const [found, kept] = await Promise.all([
      this.traces.sessionTraces(scope, sessionId, SESSION_TRACES_MAX + 1),
      this.sessions.messages(scope, sessionId, MESSAGES_MAX + 1),
    ]);
    const traces = found.slice(0, SESSION_TRACES_MAX).filter((trace) => room.take(contentSize(trace)));
    const messages = (kept.length > 0 ? kept : messagesOfTraces(traces)).slice(0, MESSAGES_MAX);
    const isTruncated = traces.length < found.length || kept.length > MESSAGES_MAX;
    return {
      messages,
      traces,
      view: (shown) => ({
        session_id: sessionId,
        messages,
        traces: shown,
        is_truncated: isTruncated,
      }),
    };
  }

  private async withSpans(scope: Scope, trace: TraceRow, room: Room): Promise<object> {
    const found =
      room.spans > 0 && room.chars > 0
        ? await this.traces.readSpans(scope, trace.trace_id, room.spans + 1)
        : [];
    const spans = found.slice(0, room.spans).filter((span) => room.take(spanSize(span)));
    room.spans -= spans.length;
    return {
      ...summaryOf(trace),
      spans: spans.map(spanView),
      is_truncated: spans.length < Math.max(found.length, trace.span_count),
    };
  }
}

const tooLarge = (what: string): { error: string } => ({
  error: `${what} makes more than ${MAX_SUBJECT_LENGTH / 1024 / 1024} MiB of JSON, which is more than a scorer is shown.`,
});

const sizeOf = (json: RawJson | null): number => json?.text.length ?? 0;

/** What a summary and a span have besides what clients wrote, in characters. */
const SUMMARY_SIZE = 600;
const SPAN_SIZE = 300;

/** A trace's content is shown up to three times: as the subject's, as messages, and in its summary. */
const contentSize = ({ input, output }: TraceRow): number =>
  SUMMARY_SIZE + 3 * (sizeOf(input) + sizeOf(output));

const spanSize = (span: SpanRow): number =>
  SPAN_SIZE + span.name.length + sizeOf(span.attributes) + sizeOf(span.events) + sizeOf(span.links);

const summaryOf = (trace: TraceRow) => ({
  trace_id: trace.trace_id,
  root_name: trace.root_name,
  started_at: trace.started_at,
  ended_at: trace.ended_at,
  duration_ms: trace.duration_ms,
  span_count: trace.span_count,
  error_count: trace.error_count,
  input_tokens: trace.input_tokens,
  output_tokens: trace.output_tokens,
  cost_usd: trace.cost_usd,
  models: trace.models,
  session_id: trace.session_id,
  service_name: trace.service_name,
  input: trace.input,
  output: trace.output,
});

const spanView = (span: SpanRow) => ({
  span_id: span.span_id,
  parent_span_id: span.parent_span_id,
  name: span.name,
  kind: span.kind,
  status: span.status,
  started_at: span.started_at,
  ended_at: span.ended_at,
  duration_ms: span.duration_ms,
  attributes: span.attributes,
  events: span.events,
  links: span.links,
});
