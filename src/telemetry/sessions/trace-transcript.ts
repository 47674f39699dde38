import { isJsonObject } from '#platform/json';
import { type Counts, isModelCall, isTool, type Turn } from '../conversation/conversation';
import { messagesIn, parsedValue, type SessionMessage } from '../conversation/messages';
import { jsonValue, partsOf } from '../conversation/transcript-entries';
import type { TraceRow } from '../traces/trace.dto';
import type { TraceSpan } from '../traces/trace.types';
import type { TranscriptItem } from './transcript.dto';

/** Attributes that identify the tool call of a span. */
const CALL_IDS = ['gen_ai.tool.call.id', 'ai.toolCall.id', 'tool_call.id'];

/** Operations of spans that call a tool, in lower case. */
const TOOL_OPERATIONS = new Set(['execute_tool', 'tool', 'ai.toolcall']);

/** The output of a model call that waits for the inputs of calls that start before it ends. */
interface PendingOutput {
  span: TraceSpan;
  messages: SessionMessage[];
  counts: Counts;
}

/** A failed model call without an answer. */
interface FailedCall {
  spanId: string;
  item: TranscriptItem;
}

const NO_VALUES = {
  content: null,
  tool_name: null,
  tool_call_id: null,
  arguments: null,
  result: null,
  error: null,
  span_id: null,
  model: null,
  duration_ms: null,
  input_tokens: null,
  output_tokens: null,
  cost_usd: null,
};

/**
 * Builds the items of one trace: the messages of its root and of its model calls, each once, and its tool calls. Takes tool calls
 * from messages and from spans, and joins the two by the id of the call, else by the name of the tool. Keeps only what is new, so
 * its memory does not depend on how often calls repeat the conversation.
 */
export class TraceTranscript {
  private readonly items: TranscriptItem[] = [];
  private readonly toolSpans: TraceSpan[] = [];
  private readonly failed: FailedCall[] = [];
  private readonly parents = new Map<string, string | null>();
  private readonly rootCounts: Counts = new Map();
  private pending: PendingOutput[] = [];
  private root: TraceSpan | undefined;
  private isCalled = false;

  /** @param toolNames the tools of the session's calls, by the ids of the calls */
  constructor(
    private readonly trace: TraceRow,
    private readonly turn: Turn,
    private readonly toolNames: Map<string, string>,
  ) {
    const input = turn.addStoredInput(trace.input, this.rootCounts);
    this.addMessages(input, { at: trace.started_at, span: null });
  }

  /** Whether a model call with messages was added. */
  get hasCalls(): boolean {
    return this.isCalled;
  }

  /** Adds a span. Spans must be added by start. */
  addSpan(span: TraceSpan): void {
    this.parents.set(span.span_id, span.parent_span_id);
    if (span.parent_span_id === null) this.root ??= span;
    if (isToolCall(span)) this.toolSpans.push(span);
    if (isTool({ ...span }) || !isModelCall({ ...span }, span)) return;
    this.addCall(span);
  }

  /** Adds an agent or another step, for a trace whose model calls have no messages. Steps must be added by start. */
  addStep(span: TraceSpan): void {
    if (!isTool({ ...span }) && !isModelCall({ ...span }, span)) this.addCall(span);
  }

  /** Returns the items in order. */
  end(): TranscriptItem[] {
    this.addOutputs(Infinity);
    const { trace, root } = this;
    const output = this.turn.addOutput(messagesIn(trace.output, 'assistant'), this.rootCounts);
    this.addMessages(output, { at: trace.ended_at, span: root ?? null });
    for (const span of this.toolSpans) this.joinTool(span);
    this.addFailures();
    return this.items.sort((one, other) => one.at.getTime() - other.at.getTime());
  }

  private addCall(span: TraceSpan): void {
    this.addOutputs(span.started_at.getTime());
    const counts: Counts = new Map();
    const input = this.turn.addStoredInput(span.input, counts);
    const messages = messagesIn(span.output, 'assistant');
    this.isCalled ||= counts.size + messages.length > 0;
    this.addMessages(input, { at: span.started_at, span });
    if (messages.length > 0) this.pending.push({ span, messages, counts });
    else if (span.status.code === 'error') this.addFailedCall(span);
  }

  /** Adds the outputs of the calls that have ended by a time, in milliseconds. */
  private addOutputs(until: number): void {
    const ended = this.pending
      .filter(({ span }) => span.ended_at.getTime() <= until)
      .sort((one, other) => one.span.ended_at.getTime() - other.span.ended_at.getTime());
    if (ended.length === 0) return;
    this.pending = this.pending.filter((one) => !ended.includes(one));
    for (const { span, messages, counts } of ended) {
      this.addMessages(this.turn.addOutput(messages, counts), { at: span.ended_at, span, isAnswer: true });
    }
  }

  private addMessages(
    messages: readonly SessionMessage[],
    { at, span, isAnswer = false }: { at: Date; span: TraceSpan | null; isAnswer?: boolean },
  ): void {
    let usage = isAnswer && span ? usageOf(span) : {};
    const base = { ...NO_VALUES, at, trace_id: this.trace.trace_id, span_id: span?.span_id ?? null };
    const add = (item: Pick<TranscriptItem, 'kind' | 'role'> & Partial<TranscriptItem>): void => {
      this.items.push({ ...base, ...usage, ...item });
      usage = {};
    };
    for (const message of messages) {
      const { role } = message;
      const parts = partsOf(message);
      const contents = parts.flatMap((part) => (part.kind === 'content' ? [part.value] : []));
      if (contents.length > 0) add({ kind: 'message', role, content: joined(contents) });
      for (const part of parts) {
        if (part.kind === 'call') {
          if (part.id !== undefined && this.find(part.id)) continue;
          if (part.id !== undefined && part.name !== undefined) this.toolNames.set(part.id, part.name);
          add({
            ...ofTool(part),
            kind: 'tool_call',
            role: 'assistant',
            arguments: part.args ?? null,
            duration_ms: null,
          });
        } else if (part.kind === 'result') {
          this.addResult(part, add);
        }
      }
    }
  }

  /** Adds the result of a tool to its call. If an earlier trace has the call, adds an item. */
  private addResult(
    { id, name, value }: { id: string | undefined; name: string | undefined; value: unknown },
    add: (item: Pick<TranscriptItem, 'kind' | 'role'> & Partial<TranscriptItem>) => void,
  ): void {
    const known = name ?? this.toolNames.get(id ?? '');
    const call =
      id === undefined
        ? this.items.find(
            (item) =>
              item.kind === 'tool_call' && isOpen(item) && (known === undefined || item.tool_name === known),
          )
        : this.find(id);
    if (call) call.result ??= value;
    else add({ ...ofTool({ id, name: known }), kind: 'tool_call', role: 'assistant', result: value });
  }

  private find(id: string): TranscriptItem | undefined {
    return this.items.find(({ tool_call_id }) => tool_call_id === id);
  }

  /** Adds the times, the error and missing values of a tool's span to its call. */
  private joinTool(span: TraceSpan): void {
    const name = span.tool_name ?? span.name.replace(/^execute_tool /, '');
    const id = callIdOf(span);
    const isOwn = (item: TranscriptItem): boolean =>
      item.kind === 'tool_call' && item.tool_name === name && item.duration_ms === null;
    const [args, result] = [span.input, span.output].map((value) => jsonValue(parsedValue(value)) ?? null);
    const found =
      (id !== undefined && this.find(id)) ||
      this.items.find((item) => isOwn(item) && (id === undefined || item.tool_call_id === null));
    const call = found || {
      ...NO_VALUES,
      ...ofTool({ id, name }),
      kind: 'tool_call' as const,
      role: 'assistant',
      at: span.started_at,
      trace_id: this.trace.trace_id,
    };
    if (call.duration_ms !== null && found) return; // an outer span of the same call
    call.arguments ??= args;
    call.result ??= result;
    call.span_id = span.span_id;
    call.duration_ms = span.duration_ms;
    call.error = errorOf(span);
    if (!found) this.items.push(call);
  }

  private addFailedCall(span: TraceSpan): void {
    const item: TranscriptItem = {
      ...NO_VALUES,
      ...usageOf(span),
      kind: 'message',
      role: 'assistant',
      error: errorOf(span),
      at: span.ended_at,
      trace_id: this.trace.trace_id,
      span_id: span.span_id,
    };
    this.failed.push({ spanId: span.span_id, item });
  }

  /** Adds the failed calls, each once: not the span of a client around it. Adds the root's failure if nothing else explains it. */
  private addFailures(): void {
    const outer = new Set<string>();
    for (const { spanId } of this.failed) {
      for (let id = this.parents.get(spanId); id != null && !outer.has(id); id = this.parents.get(id))
        outer.add(id);
    }
    this.items.push(...this.failed.filter(({ spanId }) => !outer.has(spanId)).map(({ item }) => item));
    const { root } = this;
    if (root?.status.code !== 'error' || this.items.some(({ error }) => error !== null)) return;
    this.addFailedCall(root);
    this.items.push(this.failed.at(-1)!.item);
  }
}

const isToolCall = ({ operation, tool_name }: TraceSpan): boolean =>
  tool_name !== null || TOOL_OPERATIONS.has(operation?.toLowerCase() ?? '');

const isOpen = ({ result }: TranscriptItem): boolean => result === null;

const ofTool = ({ id, name }: { id: string | undefined; name: string | undefined }) => ({
  tool_call_id: id ?? null,
  tool_name: name ?? null,
});

const usageOf = ({ model, duration_ms, input_tokens, output_tokens, cost_usd }: TraceSpan) => ({
  model,
  duration_ms,
  input_tokens,
  output_tokens,
  cost_usd,
});

const errorOf = ({ status }: TraceSpan): string | null =>
  status.code === 'error' ? (status.message ?? '') : null;

function callIdOf({ attributes }: TraceSpan): string | undefined {
  const values = parsedValue(attributes);
  const id =
    isJsonObject(values) && CALL_IDS.map((name) => values[name]).find((one) => typeof one === 'string');
  return typeof id === 'string' ? id : undefined;
}

/** Joins texts. Returns a list if a part is not a text. */
const joined = (contents: readonly unknown[]): unknown =>
  contents.length === 1
    ? contents[0]
    : contents.every((one) => typeof one === 'string')
      ? contents.join('')
      : contents;
