import { createHash } from 'node:crypto';
import { isJsonObject, RawJson } from '#platform/json';
import { readSpanContent } from '../span-mapping/span-meaning.reader';
import type { MeaningfulEvent } from '../span-mapping/span-meaning.types';
import { repeatsUsage } from '../traces/span-record';
import { messageListOf, messagesIn, parsedValue, type SessionMessage } from './messages';
import { entriesOf, jsonOrText } from './transcript-entries';

type JsonObject = Record<string, unknown>;

/** A trace as a scorer sees it. All members may be missing. */
export interface ConversationTrace {
  trace_id?: unknown;
  /** The input of the root span. `output` is its output. */
  input?: unknown;
  output?: unknown;
  spans?: unknown;
}

/** How often each message has occurred, by its fingerprint. */
export type Counts = Map<string, number>;

/**
 * Collects the messages of traces, each once. Every model call repeats the conversation before it, and agents repeat the
 * messages of their calls. A message counts as repeated if an earlier span contains it at least as often.
 */
export class Conversation {
  /** The highest count of each message in any span so far. */
  private readonly counts: Counts = new Map();
  private isEmpty = true;

  /** Starts a trace whose inputs and outputs are added one by one. */
  startTrace(): Turn {
    return new Turn(this.counts, !this.isEmpty, () => {
      this.isEmpty = false;
    });
  }

  /**
   * Adds a trace and returns its new messages: those of its root span, and those of its model calls in order of time. If the
   * model calls have no content, uses the spans of agents and other steps instead. From the second trace on, the first input
   * starts at its last user message, because earlier messages repeat the conversation.
   */
  add(trace: ConversationTrace): SessionMessage[] {
    const spans = Array.isArray(trace.spans) ? trace.spans.filter(isJsonObject) : [];
    const turn = this.startTrace();
    const messages: SessionMessage[] = [];
    const root = spans.find(({ parent_span_id }) => parent_span_id === null);
    const ofRoot = root && contentOf(root);
    const rootCounts: Counts = new Map();
    messages.push(...turn.addInput(messagesIn(trace.input ?? ofRoot?.input, 'user'), rootCounts));
    for (const { isOutput, messages: ofStep, counts } of stepsOf(spans)) {
      messages.push(...(isOutput ? turn.addOutput(ofStep, counts) : turn.addInput(ofStep, counts)));
    }
    messages.push(...turn.addOutput(messagesIn(trace.output ?? ofRoot?.output, 'assistant'), rootCounts));
    const { trace_id } = trace;
    return messages.map((message) => ({
      ...message,
      ...(typeof trace_id === 'string' && { trace_id }),
    }));
  }
}

/** Finds the new messages of one trace. */
export class Turn {
  private readonly traceCounts: Counts = new Map();
  private lastInput: StoredInput | undefined;

  /**
   * @param conversationCounts the messages of earlier traces
   * @param onMessage called for a trace with messages
   */
  constructor(
    private readonly conversationCounts: Counts,
    private isContinued: boolean,
    private readonly onMessage: () => void,
  ) {}

  /**
   * Adds the input of a span. Messages after the question are new in each trace, even if an earlier trace has the same.
   *
   * @param counts the messages of the span so far
   * @returns the new messages
   */
  addInput(messages: readonly SessionMessage[], counts: Counts): SessionMessage[] {
    const isFirst = messages.length > 0 && this.isContinued;
    if (isFirst) this.isContinued = false;
    const questionAt = messages.findLastIndex(({ role }) => role === 'user');
    const counted = messages.map((message, index) =>
      this.count(
        message,
        counts,
        isFirst || index <= questionAt ? this.conversationCounts : this.traceCounts,
      ),
    );
    // A repeated question is new if its trace does not repeat the conversation after it.
    const isNewQuestion = isFirst && !counted.slice(questionAt + 1).some(({ isRepeated }) => isRepeated);
    return this.record(counted, ({ isRepeated }, index) => {
      const isHistory = isFirst && index < questionAt;
      return !isHistory && (!isRepeated || (index === questionAt && isNewQuestion));
    });
  }

  /**
   * Adds the stored input of a span, like {@link addInput}. Skips the messages that it has in common with the last input, because
   * reading all messages of each call would take quadratic time.
   *
   * @param counts empty
   */
  addStoredInput(content: unknown, counts: Counts): SessionMessage[] {
    const text = content instanceof RawJson ? content.text : '';
    const { lastInput: last } = this;
    const added = last && elementsAfter(last.text, text);
    const isContinued = added !== undefined && (added.length === 0 || messageListOf(added) !== undefined);
    if (isContinued) for (const [fingerprint, count] of last!.counts) counts.set(fingerprint, count);
    const value = isContinued ? added : parsedValue(content);
    const found = this.addInput(isContinued && added.length === 0 ? [] : messagesIn(value, 'user'), counts);
    if (isContinued || (Array.isArray(value) && messageListOf(value)))
      this.lastInput = { text, counts: new Map(counts) };
    return found;
  }

  /**
   * Adds the output of a span. An answer is new in each trace, even if an earlier trace has the same. An output with messages of
   * the user is the whole conversation, as LangGraph's state is, so it repeats the input.
   *
   * @returns the new messages
   */
  addOutput(messages: readonly SessionMessage[], counts: Counts): SessionMessage[] {
    const isWhole = messages.some(({ role }) => role === 'user');
    const own = isWhole ? new Map<string, number>() : counts;
    const counted = messages.map((message) => this.count(message, own, this.traceCounts));
    return this.record(counted, ({ isRepeated }) => !isRepeated);
  }

  /** Counts a message of a span. @param earlier the counts with which it is compared */
  private count(message: SessionMessage, counts: Counts, earlier: Counts): CountedMessage {
    // some spans name the tool that answers, others only the call
    const unnamed = message.role === 'tool' ? { ...message, name: undefined } : message;
    const entries = entriesOf(unnamed).map(({ heading, body }) => {
      const fingerprint = fingerprintOf(JSON.stringify([heading, canonical(body)]));
      const count = (counts.get(fingerprint) ?? 0) + 1;
      counts.set(fingerprint, count);
      return { fingerprint, count };
    });
    const isRepeated = entries.every(({ fingerprint, count }) => count <= (earlier.get(fingerprint) ?? 0));
    return { message, entries, isRepeated };
  }

  private record(
    messages: readonly CountedMessage[],
    isNew: (message: CountedMessage, index: number) => boolean,
  ): SessionMessage[] {
    for (const { fingerprint, count } of messages.flatMap(({ entries }) => entries)) {
      for (const counts of [this.conversationCounts, this.traceCounts]) {
        counts.set(fingerprint, Math.max(count, counts.get(fingerprint) ?? 0));
      }
    }
    const found = messages.filter(isNew).map(({ message }) => message);
    if (found.length > 0) this.onMessage();
    return found;
  }
}

/** The JSON of a list of messages, and how often each occurs in it. */
interface StoredInput {
  text: string;
  counts: Counts;
}

/** Returns the elements that a JSON list has after those of another list; undefined if it does not begin with them. */
function elementsAfter(earlier: string, text: string): unknown[] | undefined {
  const end = earlier.length - 1;
  if (text === earlier) return [];
  if (text[end] !== ',' || !text.startsWith(earlier.slice(0, end))) return undefined;
  return new RawJson(`[${text.slice(end + 1)}`).parseExactly() as unknown[];
}

/** Longer texts are hashed, so that a conversation takes little memory. */
const FINGERPRINT_MAX = 64;

const fingerprintOf = (text: string): string =>
  text.length <= FINGERPRINT_MAX ? text : createHash('sha256').update(text).digest('base64');

/** A message, and the count of each of its entries within its span. */
interface CountedMessage {
  message: SessionMessage;
  entries: { fingerprint: string; count: number }[];
  /** True for a message without content. */
  isRepeated: boolean;
}

/** Normalizes JSON text, because clients send arguments as objects or as text. */
function canonical(body: string): string {
  const value = /^\s*[[{]/.test(body) ? jsonOrText(body) : body;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The input or the output of a span. */
interface Step {
  at: number;
  isOutput: boolean;
  messages: SessionMessage[];
  /** Of the messages in the span. */
  counts: Counts;
}

/**
 * Returns the inputs and outputs of the model calls or, if these have no content, of all other spans except tool calls.
 * Orders inputs by the start of their spans, and outputs by the end.
 */
function stepsOf(spans: readonly JsonObject[]): Step[] {
  const calls: Step[] = [];
  const others: Step[] = [];
  for (const span of spans) {
    if (isTool(span)) continue;
    const content = contentOf(span);
    const input = messagesIn(content.input, 'user');
    const output = messagesIn(content.output, 'assistant');
    if (input.length + output.length === 0) continue;
    const counts: Counts = new Map();
    (isModelCall(span, content) ? calls : others).push(
      { at: timeOf(span.started_at), isOutput: false, messages: input, counts },
      { at: timeOf(span.ended_at), isOutput: true, messages: output, counts },
    );
  }
  return (calls.length > 0 ? calls : others).sort((one, other) => one.at - other.at);
}

/** Operations without messages, as the tracing conventions name them, in lower case. */
const OPERATIONS_WITHOUT_MESSAGES = new Set([
  ...['execute_tool', 'retrieval', 'embeddings'],
  ...['tool', 'retriever', 'embedding', 'reranker', 'guardrail', 'evaluator', 'prompt'],
  ...['ai.toolcall', 'ai.embed', 'ai.embed.doembed', 'ai.embedmany', 'ai.embedmany.doembed'],
]);

const operationOf = ({ operation }: JsonObject): string =>
  typeof operation === 'string' ? operation.toLowerCase() : '';

export const isTool = (span: JsonObject): boolean =>
  OPERATIONS_WITHOUT_MESSAGES.has(operationOf(span)) || typeof span.tool_name === 'string';

export function isModelCall(
  span: JsonObject,
  { input, output }: { input: unknown; output: unknown },
): boolean {
  if (repeatsUsage(operationOf(span))) return false;
  const isNamed = [span.operation, span.model, span.provider].some((name) => typeof name === 'string');
  return isNamed || [input, output].some((content) => messageListOf(parsedValue(content)) !== undefined);
}

/** Returns the input and output of a span. If they were omitted because of their size, reads them from its attributes. */
export function contentOf(span: JsonObject): { input: unknown; output: unknown } {
  const { input = null, output = null, is_truncated } = span;
  if (is_truncated !== true || (input !== null && output !== null)) return { input, output };
  const [attributes, events] = [parsedValue(span.attributes), parsedValue(span.events)];
  const read = readSpanContent({
    attributes: (isJsonObject(attributes) ? attributes : {}) as never,
    events: (Array.isArray(events) ? events : []) as MeaningfulEvent[],
    resource: { attributes: {} },
  });
  return { input: input ?? read.input, output: output ?? read.output };
}

const timeOf = (time: unknown): number => new Date(time as string | Date).getTime() || 0;
