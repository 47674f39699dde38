import { isJsonObject } from '#platform/json';
import { type MeaningfulEvent, readSpanContent, repeatsUsage } from '../../../telemetry';
import { toolCallOf } from '../../scorers';
import { entriesOf } from './message-entries';
import { messageListOf, messagesIn, plain, type SessionMessage } from './messages';

type JsonObject = Record<string, unknown>;

/** A trace as a scorer sees it. All members may be missing. */
export interface SpokenTrace {
  trace_id?: unknown;
  /** Of the root span. */
  input?: unknown;
  output?: unknown;
  spans?: unknown;
}

/** The messages that a span received and gave. */
interface Exchange {
  input: SessionMessage[];
  output: SessionMessage[];
  startedAt: number;
  endedAt: number;
}

/** The messages of one span that were seen so far, by fingerprint, with their number. */
type Counts = Map<string, number>;

/**
 * Collects the messages of traces, each once, although every model call repeats the conversation before it, and agents repeat
 * what their calls say. A message counts as repeated if an earlier span has it at least as often.
 */
export class Conversation {
  /** The largest number of each message in any span so far. */
  private readonly known: Counts = new Map();
  private isEmpty = true;

  /**
   * Adds a trace and returns its new messages: those of its root, and those of its model calls in the order of time. If the
   * calls have no content, the spans of agents and other steps count instead. Of a further trace, the first input begins
   * with its last user message, because what comes before is the conversation so far.
   */
  add(trace: SpokenTrace): SessionMessage[] {
    const spans = Array.isArray(trace.spans) ? trace.spans.filter(isJsonObject) : [];
    const turn = new Turn(this.known, !this.isEmpty);
    const root = rootExchange(trace, spans);
    const rootCounts: Counts = new Map();
    turn.hear(root.input, rootCounts);
    for (const { isOutput, messages, counts } of inOrder(exchangesOf(spans))) {
      if (isOutput) turn.say(messages, counts);
      else turn.hear(messages, counts);
    }
    turn.say(root.output, rootCounts);
    if (turn.messages.length > 0) this.isEmpty = false;
    const { trace_id } = trace;
    return turn.messages.map((message) => ({
      ...message,
      ...(typeof trace_id === 'string' && { trace_id }),
    }));
  }
}

/** The new messages of one trace. */
class Turn {
  readonly messages: SessionMessage[] = [];
  private readonly ofTrace: Counts = new Map();

  /** @param known the messages of earlier traces */
  constructor(
    private readonly known: Counts,
    private isContinued: boolean,
  ) {}

  /** Adds the input of a span. What follows the question is new in each trace, even if it was said before. */
  hear(messages: readonly SessionMessage[], counts: Counts): void {
    const isFirst = messages.length > 0 && this.isContinued;
    if (isFirst) this.isContinued = false;
    const asked = messages.findLastIndex(({ role }) => role === 'user');
    const heard = messages.map((message, index) =>
      this.count(message, counts, isFirst || index <= asked ? this.known : this.ofTrace),
    );
    // The same question again, in a trace that does not repeat the conversation, is a new one.
    const isNewQuestion = isFirst && !heard.slice(asked + 1).some(({ isKnown }) => isKnown);
    heard.forEach(({ message, isKnown }, index) => {
      const isHistory = isFirst && index < asked;
      if (!isHistory && (!isKnown || (index === asked && isNewQuestion))) this.messages.push(message);
    });
    this.note(heard);
  }

  /** Adds the output of a span. An answer is new in each trace, even if it was given before. */
  say(messages: readonly SessionMessage[], counts: Counts): void {
    const said = messages.map((message) => this.count(message, counts, this.ofTrace));
    for (const { message, isKnown } of said) if (!isKnown) this.messages.push(message);
    this.note(said);
  }

  private count(message: SessionMessage, counts: Counts, among: Counts): Heard {
    const marks = entriesOf(message).map(({ head, body }) => {
      const mark = JSON.stringify([head, canonical(body)]);
      const count = (counts.get(mark) ?? 0) + 1;
      counts.set(mark, count);
      return { mark, count };
    });
    return { message, marks, isKnown: marks.every(({ mark, count }) => count <= (among.get(mark) ?? 0)) };
  }

  private note(heard: readonly Heard[]): void {
    for (const { mark, count } of heard.flatMap(({ marks }) => marks)) {
      for (const counts of [this.known, this.ofTrace]) {
        counts.set(mark, Math.max(count, counts.get(mark) ?? 0));
      }
    }
  }
}

interface Heard {
  message: SessionMessage;
  marks: { mark: string; count: number }[];
  /** Also of a message without content. */
  isKnown: boolean;
}

/** Writes JSON in one way, because arguments are sent as objects and as texts. */
function canonical(body: string): string {
  if (!/^\s*[[{]/.test(body)) return body;
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return body;
  }
}

function rootExchange(
  { input, output }: SpokenTrace,
  spans: readonly JsonObject[],
): Omit<Exchange, 'startedAt' | 'endedAt'> {
  const root = spans.find(({ parent_span_id }) => parent_span_id === null);
  const ofRoot = root && contentOf(root);
  return {
    input: messagesIn(input ?? ofRoot?.input, 'user'),
    output: messagesIn(output ?? ofRoot?.output, 'assistant'),
  };
}

/** Returns the exchanges of the model calls or, if these have no content, of the other spans that are no tools. */
function exchangesOf(spans: readonly JsonObject[]): Exchange[] {
  const calls: Exchange[] = [];
  const others: Exchange[] = [];
  for (const span of spans) {
    if (isTool(span)) continue;
    const { input, output } = contentOf(span);
    const exchange = {
      input: messagesIn(input, 'user'),
      output: messagesIn(output, 'assistant'),
      startedAt: timeOf(span.started_at),
      endedAt: timeOf(span.ended_at),
    };
    if (exchange.input.length + exchange.output.length === 0) continue;
    (isModelCall(span, input, output) ? calls : others).push(exchange);
  }
  return calls.length > 0 ? calls : others;
}

/** Returns inputs at the start of their spans, and outputs at their end. */
function inOrder(
  exchanges: readonly Exchange[],
): { isOutput: boolean; messages: SessionMessage[]; counts: Counts }[] {
  return exchanges
    .flatMap(({ input, output, startedAt, endedAt }) => {
      const counts: Counts = new Map();
      return [
        { at: startedAt, isOutput: false, messages: input, counts },
        { at: endedAt, isOutput: true, messages: output, counts },
      ];
    })
    .sort((one, other) => one.at - other.at);
}

/** Operations without a conversation, as the conventions name them, in lower case. */
const SILENT_OPERATIONS = new Set([
  ...['execute_tool', 'retrieval', 'embeddings'],
  ...['tool', 'retriever', 'embedding', 'reranker', 'guardrail', 'evaluator', 'prompt'],
  ...['ai.toolcall', 'ai.embed', 'ai.embed.doembed', 'ai.embedmany', 'ai.embedmany.doembed'],
]);

const operationOf = ({ operation }: JsonObject): string =>
  typeof operation === 'string' ? operation.toLowerCase() : '';

const isTool = (span: JsonObject): boolean =>
  SILENT_OPERATIONS.has(operationOf(span)) ||
  typeof span.tool_name === 'string' ||
  toolCallOf({ ...span, attributes: plain(span.attributes) }) !== undefined;

function isModelCall(span: JsonObject, input: unknown, output: unknown): boolean {
  if (repeatsUsage(operationOf(span))) return false;
  const isNamed = [span.operation, span.model, span.provider].some((name) => typeof name === 'string');
  return isNamed || [input, output].some((content) => messageListOf(plain(content)) !== undefined);
}

/** Returns the input and output of a span. If they were left out because of their size, they may be in its attributes. */
export function contentOf(span: JsonObject): { input: unknown; output: unknown } {
  const { input = null, output = null, is_truncated } = span;
  if (is_truncated !== true || (input !== null && output !== null)) return { input, output };
  const [attributes, events] = [plain(span.attributes), plain(span.events)];
  const read = readSpanContent({
    attributes: (isJsonObject(attributes) ? attributes : {}) as never,
    events: (Array.isArray(events) ? events : []) as MeaningfulEvent[],
    resource: { attributes: {} },
  });
  return { input: input ?? read.input, output: output ?? read.output };
}

const timeOf = (time: unknown): number => new Date(time as string | Date).getTime() || 0;
