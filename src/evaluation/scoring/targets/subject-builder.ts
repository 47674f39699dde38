import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { retry, type RetryPolicy } from '#platform/concurrency';
import {
  firstUserContent,
  lastAssistantContent,
  type TraceRow,
  type TraceSpan,
  TraceStore,
} from '../../../telemetry';
import { type Grain, MAX_SUBJECT_LENGTH, type ScoringSubject } from '../../scorers';
import { type InputOutput, isUnread, jsonSize, TraceContentReader } from '../../trace-content';
import {
  type ChunkContent,
  contentSizeOf,
  isSmall,
  MESSAGES_MAX,
  type Session,
  sessionIdOf,
  SubjectReader,
  UNREAD,
} from './subject-reader';
import { type ShownSpans, spanViews, SUBJECT_MAX, SubjectBudget, totalsOf, traceView } from './subject-views';
import type { ScoringTarget } from './target.entity';
import type { ResultContent } from './target.repository';

/** The subject that a scorer sees, or the reason why it cannot be built. */
export type SubjectOrError = { subject: ScoringSubject } | { error: string; isTooLarge?: boolean };

/** A target whose trace and result have been read. `build` reads the rest. */
export interface PreparedTarget {
  target: ScoringTarget;
  build: () => Promise<SubjectOrError>;
}

/** The input, output and expected value that a scorer sees of a trace or a result. */
export type TargetContent = (InputOutput & { expected: unknown }) | { error: string };

const NO_SPANS =
  'The spans of this trace never arrived, or are no longer stored. To use a result that names the trace, select it by `experiment_id`.';
const EMPTY_SESSION =
  'The session has no stored messages or traces. To use a result that names the session, select it by `experiment_id`.';

const RESULT_GONE = 'The result was deleted, or its content was erased.';

/** A target, with what was read of it. */
interface ReadTarget {
  scope: Scope;
  target: ScoringTarget;
  trace: TraceRow | undefined;
  result: ResultContent | undefined;
  chunk: ChunkContent;
}

/**
 * Builds the subject of a target, which is what a scorer sees:
 *
 * - input, output, expected and metadata of the result, if the target is one; results that only name the target have no
 *   effect, so that production is judged by its own content
 * - an input or output that is missing then, from the root span, else from the model calls of the trace
 * - the trace with its spans
 * - the session with its messages and traces
 *
 * Reads nothing beyond the budget. Required members take their share first, then spans and messages, then the trace's own
 * input and output. Marks objects whose content does not fit as `is_truncated`.
 */
@Injectable()
export class SubjectBuilder {
  constructor(
    private readonly traces: TraceStore,
    private readonly contents: TraceContentReader,
    private readonly reader: SubjectReader,
  ) {}

  /**
   * Yields targets in order. Reads a chunk of targets together, and the next chunk ahead if this one is small, so that targets
   * seldom wait for the database.
   */
  async *prepare(
    scope: Scope,
    {
      grain,
      targets,
      retry: policy,
    }: { grain: Grain; targets: readonly ScoringTarget[]; retry: RetryPolicy },
    chunkSize: number,
  ): AsyncGenerator<PreparedTarget, undefined> {
    const read = (at: number): Promise<ChunkContent> =>
      retry(() => this.reader.prepareChunk(scope, grain, targets.slice(at, at + chunkSize)), policy);
    let ahead: Promise<ChunkContent> | undefined;
    for (let at = 0; at < targets.length; at += chunkSize) {
      const chunk = targets.slice(at, at + chunkSize);
      const content = await (ahead ?? read(at));
      const next = at + chunkSize;
      ahead = next < targets.length && isSmall(content) ? read(next) : undefined;
      ahead?.catch(() => undefined); // the error is thrown when `ahead` is awaited
      for (const target of chunk) yield { target, build: () => this.build(scope, grain, target, content) };
    }
  }

  /** Returns the input, output and expected value of a trace or a result, without the rest of its subject. */
  async readContent(scope: Scope, target: ScoringTarget): Promise<TargetContent> {
    const read = await this.reader.readChunk(scope, [target]);
    const { trace, result } = await this.reader.readTarget(scope, target, read);
    if (!trace && !isResult(target)) return { error: NO_SPANS };
    if (isGone(target, result)) return { error: RESULT_GONE };
    const isTooLarge = result && result.size > SUBJECT_MAX;
    const content = isTooLarge ? undefined : await this.contentOf({ scope, trace, result });
    const fits = content && sizeOf([content.input, content.output]) <= SUBJECT_MAX;
    return fits ? { ...content, expected: result?.expected ?? null } : tooLarge(sourceOf(result));
  }

  private async build(
    scope: Scope,
    grain: Grain,
    target: ScoringTarget,
    chunk: ChunkContent,
  ): Promise<SubjectOrError> {
    const { trace, result } = await this.reader.readTarget(scope, target, chunk);
    if (isGone(target, result)) return { error: RESULT_GONE };
    if (result && result.size > SUBJECT_MAX) return tooLarge('The result of the target');
    const read = { scope, target, trace, result, chunk };
    return grain === 'trace' ? this.buildTrace(read) : this.buildSession(read);
  }

  private async buildTrace(read: ReadTarget): Promise<SubjectOrError> {
    const { scope, target, trace, result } = read;
    if (!trace && !isResult(target)) return { error: NO_SPANS };
    const budget = new SubjectBudget();
    const spans = trace && (await this.readSpans(read, trace));
    const content = await this.contentOf(read, spans);
    const required = [
      content?.input,
      content?.output,
      result?.expected,
      result?.metadata,
      trace && totalsOf(trace),
    ];
    if (!content || !budget.take(sizeOf(required))) return tooLarge(sourceOf(result));
    const views = trace && showSpans(trace, spans!, budget);
    const sessionId = sessionIdOf(target, trace, result);
    const session =
      sessionId === null ? null : await this.reader.readSession(scope, sessionId, budget, read.chunk);
    const sessionView = session && (await this.showSession(read, session, budget, { withSpans: false }));
    return {
      subject: {
        ...content,
        expected: result?.expected ?? null,
        metadata: result?.metadata ?? null,
        trace: trace ? traceView(trace, views, budget) : null,
        session: sessionView,
      },
    };
  }

  /** Returns the input and output of the result, else of the trace. Undefined if a trace that is too large is their only source. */
  private async contentOf(
    { scope, trace, result }: Pick<ReadTarget, 'scope' | 'trace' | 'result'>,
    spans?: readonly TraceSpan[],
  ): Promise<InputOutput | undefined> {
    const input = result?.input ?? trace?.input ?? null;
    const output = result?.output ?? trace?.output ?? null;
    return trace ? this.contents.contentOf(scope, trace, { input, output }, spans) : { input, output };
  }

  private async buildSession(read: ReadTarget): Promise<SubjectOrError> {
    const { scope, target, trace, result } = read;
    const budget = new SubjectBudget();
    const expected = result?.expected ?? null;
    const metadata = result?.metadata ?? null;
    budget.take(sizeOf([expected, metadata]));
    const { session_id } = target;
    // Only a target that is a result can lack a session.
    const session =
      session_id === null ? null : await this.reader.readSession(scope, session_id, budget, read.chunk);
    if (session && !isResult(target) && isEmpty(session)) return { error: EMPTY_SESSION };
    if (session && !result && isStartUnread(session)) return tooLarge('The first message of the session');
    let input = session ? firstUserContent(session.messages) : undefined;
    let output = session?.hasMore
      ? await this.reader.lastAnswer(scope, session, budget)
      : lastAssistantContent(session?.messages ?? []);
    if (output === UNREAD && !(result && isStartUnread(session!)))
      return tooLarge('The last message of the session');
    if (output === UNREAD) output = undefined;
    if (result && (input === undefined || output === undefined)) {
      const spans = trace && (await this.readSpans(read, trace));
      const content = await this.contentOf(read, spans);
      input ??= content?.input;
      output ??= content?.output;
    }
    if (!budget.take(sizeOf([input, output]))) {
      return tooLarge(session ? 'The first and last message of the session together' : sourceOf(result));
    }
    return {
      subject: {
        input: input ?? null,
        output: output ?? null,
        expected,
        metadata,
        session: session && (await this.showSession(read, session, budget, { withSpans: true })),
      },
    };
  }

  private async showSession(
    read: ReadTarget,
    session: Session,
    budget: SubjectBudget,
    { withSpans }: { withSpans: boolean },
  ): Promise<object> {
    const messages = budget.first(session.messages.slice(0, MESSAGES_MAX), jsonSize);
    const traces = budget.first(session.traces, (trace) => jsonSize(totalsOf(trace)));
    const spans: ShownSpans[] = [];
    for (const trace of withSpans ? traces : []) {
      spans.push(showSpans(trace, await this.readSpans(read, trace, budget), budget));
    }
    const isCut = session.hasMore || messages.length < session.messages.length;
    return {
      session_id: session.sessionId,
      messages,
      trace_count: session.traceCount,
      traces: traces.map((trace, index) => traceView(trace, spans[index], budget)),
      is_truncated: isCut || traces.length < session.traceCount,
    };
  }

  private async readSpans(
    { scope, chunk }: ReadTarget,
    { trace_id }: TraceRow,
    budget = new SubjectBudget(),
  ): Promise<TraceSpan[]> {
    if (budget.spans <= 0 || budget.bytes <= 0) return [];
    const ahead = chunk.spans.get(trace_id);
    if (ahead && ahead.length <= budget.spans && contentSizeOf(ahead) <= budget.bytes) return ahead;
    return this.traces.readSpans(scope, [trace_id], { limit: budget.spans + 1, maxBytes: budget.bytes });
  }
}

function showSpans(trace: TraceRow, spans: readonly TraceSpan[], budget: SubjectBudget): ShownSpans {
  const views = spanViews(spans.slice(0, budget.spans), budget);
  budget.spans -= views.length;
  const isCut = views.length < Math.max(spans.length, trace.span_count);
  return { views, isCut: isCut || views.some(({ is_truncated }) => is_truncated) };
}

const sizeOf = (values: readonly unknown[]): number =>
  values.reduce((sum: number, value) => sum + jsonSize(value ?? null), 0);

/** Tells whether a target is a result, as opposed to a trace or a session. Its version is unknown to annotators. */
const isResult = ({ result_id }: ScoringTarget): boolean => result_id !== null;

/** Tells whether a target is a result that was deleted or erased. */
const isGone = (target: ScoringTarget, result: ResultContent | undefined): boolean =>
  isResult(target) && (!result || result.erased);

const isEmpty = ({ isAgentSession, traces }: Session): boolean => !isAgentSession && traces.length === 0;

const isStartUnread = ({ messages, isAgentSession, traces }: Session): boolean =>
  messages.length === 0 && (isAgentSession || traces.some(isUnread));

const sourceOf = (result: ResultContent | undefined): string =>
  (result?.input ?? result?.output ?? null) === null
    ? 'The root span of the trace'
    : 'The result of the target';

const tooLarge = (what: string): { error: string; isTooLarge: boolean } => ({
  isTooLarge: true,
  error: `${what} exceeds ${MAX_SUBJECT_LENGTH / 1024 / 1024} MiB of JSON, the maximum input of a scorer.`,
});
