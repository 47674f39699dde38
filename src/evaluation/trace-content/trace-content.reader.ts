import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { RawJson, toJsonText } from '#platform/json';
import {
  Conversation,
  firstUserContent,
  lastAssistantContent,
  type TraceRow,
  type TraceSpan,
  TraceStore,
} from '../../telemetry';

/** Largest content of a trace that is read, in bytes of JSON: what fits into the subject of a scorer, or into a record. */
const CONTENT_MAX = 8 * 1024 * 1024 - 64 * 1024;
/** Maximum number of spans of a trace that are read. */
export const SPANS_MAX = 1_000;
/** Maximum number of model calls at the end of a trace whose messages are read. */
const LAST_CALLS_MAX = 20;
/** Number of traces that are read together. */
const CHUNK = 10;

/** The input and output of a trace. Null for a value that the trace does not have. */
export interface InputOutput {
  input: unknown;
  output: unknown;
}

/** A trace with its input and output. */
export interface TraceContent {
  trace: TraceRow;
  /** Undefined if it is too large. */
  content: InputOutput | undefined;
}

/** Returns the size of a value in bytes of JSON, including the separator. */
export const jsonSize = (value: unknown): number => Buffer.byteLength(toJsonText(value)) + 1;

/** Tells whether the trace's input and output were too large to read. */
export const isUnread = ({ input, output, content_size }: TraceRow): boolean =>
  content_size > 0 && input === null && output === null;

/** Reads the input and output of traces, as scorers see them. */
@Injectable()
export class TraceContentReader {
  constructor(private readonly traces: TraceStore) {}

  /** Yields the content of traces in the order of their ids; undefined for a trace that is not stored. */
  async *read(
    scope: Scope,
    traceIds: readonly string[],
  ): AsyncGenerator<TraceContent | undefined, undefined> {
    for (let at = 0; at < traceIds.length; at += CHUNK) {
      const ids = traceIds.slice(at, at + CHUNK);
      const rows = await this.traces.findTraces(scope, ids, CONTENT_MAX);
      const rowOf = new Map(rows.map((row) => [row.trace_id, row]));
      for (const id of ids) {
        const trace = await this.withContent(scope, rowOf.get(id));
        const content = trace && (await this.contentOf(scope, trace));
        const fits = content && jsonSize(content.input) + jsonSize(content.output) <= CONTENT_MAX;
        yield trace && { trace, content: fits ? content : undefined };
      }
    }
  }

  /** Reads the content of a trace that did not fit into the traces that it was read with. */
  async withContent(scope: Scope, trace: TraceRow | undefined): Promise<TraceRow | undefined> {
    if (!trace || !isUnread(trace) || trace.content_size > CONTENT_MAX) return trace;
    const [read] = await this.traces.findTraces(scope, [trace.trace_id], CONTENT_MAX);
    return read;
  }

  /**
   * Completes an input and output, by default those of the root span: a missing input with the first user message of the
   * model calls, and a missing output with their last assistant message. Undefined if a root span that is too large is their
   * only source.
   *
   * @param spans the first spans of the trace, if they have been read
   */
  async contentOf(
    scope: Scope,
    trace: TraceRow,
    { input, output }: InputOutput = trace,
    spans?: readonly TraceSpan[],
  ): Promise<InputOutput | undefined> {
    if (input !== null && output !== null) return { input, output };
    if (isUnread(trace) && (input ?? output) === null) return undefined;
    const reading = { limit: SPANS_MAX + 1, maxBytes: CONTENT_MAX };
    const read = spans ?? (await this.traces.readSpans(scope, [trace.trace_id], reading));
    const messages = new Conversation().add({ ...trace, spans: read });
    const isCut = read.length < trace.span_count || read.some(({ attributes }) => attributes === null);
    const lastAnswer =
      isCut && output === null ? await this.lastAnswerOfCalls(scope, trace.trace_id) : undefined;
    return {
      input: input ?? asJson(firstUserContent(messages)),
      output: output ?? asJson(lastAnswer ?? lastAssistantContent(messages)),
    };
  }

  /** Reads the last assistant message among the last model calls of a trace. */
  async lastAnswerOfCalls(scope: Scope, traceId: string): Promise<unknown> {
    const spans = await this.traces.readSpans(scope, [traceId], {
      limit: LAST_CALLS_MAX,
      maxBytes: CONTENT_MAX,
      callsOnly: true,
      fromEnd: true,
    });
    return lastAssistantContent(new Conversation().add({ spans }));
  }
}

/** Returns a value as JSON for a scorer; null without a value. */
const asJson = (value: unknown): unknown =>
  value === undefined || value === null || value instanceof RawJson
    ? (value ?? null)
    : new RawJson(toJsonText(value));
