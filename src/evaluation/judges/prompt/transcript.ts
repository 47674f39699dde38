import { isJsonObject, RawJson, toJsonText } from '#platform/json';
import { toolCallOf, cutText } from '../../scorers';
import { messagesIn, type SessionMessage } from './session-messages';

/** Characters kept of a role or of a tool's name. */
const NAME_MAX = 100;

/** One utterance, tool call or tool result of a conversation. */
interface Entry {
  /** The speaker, or the tool that is called or that answers. */
  head: string;
  body: string;
  isToolEntry: boolean;
}

/** Consecutive messages of one trace. */
interface Turn {
  traceId: unknown;
  /** Whether the last message is from the assistant. */
  isAnswered: boolean;
  /** The entries of each message. */
  entries: Entry[][];
}

type JsonObject = Record<string, unknown>;

/**
 * Returns a session as a transcript: its messages, tool calls and tool results in order. Tool calls come from the messages.
 * For a trace whose messages contain no calls, they come from its spans and precede its last answer. Every line of content
 * is indented by two spaces, so that content cannot look like the head of an entry.
 *
 * @param target the trace to judge, if the target is not the session; the session then has no spans of other traces
 */
export function sessionTranscript(session: JsonObject, target?: unknown): string {
  const traces = Array.isArray(session.traces) ? session.traces.filter(isJsonObject) : [];
  const spansOf = new Map(traces.map((trace) => [trace.trace_id, trace.spans]));
  if (isJsonObject(target)) spansOf.set(target.trace_id, target.spans);
  const messages = Array.isArray(session.messages) ? (session.messages as SessionMessage[]) : [];
  const turns = turnsOf(messages);
  const lastTurnOf = new Map(turns.map((turn) => [turn.traceId, turn]));
  const tracesWithCalls = new Set(turns.filter(hasCalls).map(({ traceId }) => traceId));
  const tracesWithoutMessages = traces.filter(({ trace_id }) => !lastTurnOf.has(trace_id));
  const entries = [
    ...turns.flatMap((turn) => {
      const needsCalls = lastTurnOf.get(turn.traceId) === turn && !tracesWithCalls.has(turn.traceId);
      return needsCalls ? withCalls(turn, spansOf.get(turn.traceId)) : turn.entries.flat();
    }),
    ...tracesWithoutMessages.flatMap(({ trace_id }) => callsOf(spansOf.get(trace_id))),
  ];
  return toText(entries, session.is_truncated === true);
}

/** Returns a trace as a transcript: the input and output of its root span, with the tool calls in between. */
export function traceTranscript(trace: JsonObject): string {
  const messages = [...messagesIn(trace.input, 'user'), ...messagesIn(trace.output, 'assistant')];
  const [turn = EMPTY_TURN] = turnsOf(messages);
  const entries = hasCalls(turn) ? turn.entries.flat() : withCalls(turn, trace.spans);
  return toText(entries, trace.is_truncated === true);
}

const EMPTY_TURN: Turn = { traceId: undefined, isAnswered: false, entries: [] };

function turnsOf(messages: readonly SessionMessage[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    let turn = turns.at(-1);
    if (!turn || turn.traceId !== message.trace_id) {
      turn = { traceId: message.trace_id, isAnswered: false, entries: [] };
      turns.push(turn);
    }
    turn.entries.push(entriesOf(message));
    turn.isAnswered = message.role === 'assistant';
  }
  return turns;
}

const hasCalls = ({ entries }: Turn): boolean => entries.flat().some(({ isToolEntry }) => isToolEntry);

/** Inserts the tool calls of spans before the answer of a turn. */
function withCalls({ isAnswered, entries }: Turn, spans: unknown): Entry[] {
  const answerAt = isAnswered ? entries.length - 1 : entries.length;
  return [...entries.slice(0, answerAt), callsOf(spans), ...entries.slice(answerAt)].flat();
}

function callsOf(spans: unknown): Entry[] {
  if (!Array.isArray(spans)) return [];
  return spans.filter(isJsonObject).flatMap((span) => {
    const call = toolCallOf({ ...span, attributes: plain(span.attributes) });
    if (!call) return [];
    const name = nameOf(call.name);
    const failure = failureOf(span.status);
    if (failure !== undefined)
      return [toolEntry(`calls ${name}`, call.args), failedCall(name, failure, call.result)];
    const result = call.result === undefined ? [] : [toolEntry(`${name} answers`, call.result)];
    return [toolEntry(`calls ${name}`, call.args), ...result];
  });
}

/** Returns the message of a failed span, which may be empty; undefined for a span that did not fail. */
function failureOf(status: unknown): string | undefined {
  const value = plain(status);
  if (!isJsonObject(value) || value.code !== 'error') return undefined;
  return typeof value.message === 'string' ? value.message : '';
}

/** Returns the entry of a failed call, with the reason and the result if there is one. */
function failedCall(name: string, reason: string, result: unknown): Entry {
  const { head, body, isToolEntry } = toolEntry(`${name} fails`, result);
  return { head, body: [reason, body].filter((text) => text !== '').join('\n'), isToolEntry };
}

function entriesOf(message: SessionMessage): Entry[] {
  const role = nameOf(message.role);
  const content = plain(message.content);
  const calls = plain(message.tool_calls);
  const head = role === 'tool' ? `${nameOf(message.name ?? 'tool')} answers` : role;
  const contents = Array.isArray(content)
    ? content.map((part) => entryOfPart(role, head, part))
    : content === null || content === undefined || content === ''
      ? []
      : [{ head, body: textOf(content), isToolEntry: role === 'tool' }];
  return [...contents, ...(Array.isArray(calls) ? calls.map((call) => entryOfCall(role, call)) : [])];
}

/** Reads a part of a message in the format of OpenTelemetry (`tool_call`) or Anthropic (`tool_use`). */
function entryOfPart(role: string, head: string, part: unknown): Entry {
  const isToolEntry = role === 'tool';
  if (!isJsonObject(part)) return { head, body: textOf(part), isToolEntry };
  const { type, name, id, tool_use_id } = part;
  if (type === 'tool_call' || type === 'tool_use') {
    return toolEntry(`${role} calls ${nameOf(name)}`, part.arguments ?? part.input);
  }
  if (type === 'tool_call_response' || type === 'tool_result') {
    const tool = nameOf(name ?? id ?? tool_use_id ?? 'tool');
    return toolEntry(`${tool} answers`, part.response ?? part.result ?? part.content);
  }
  const text = part.text ?? (type === 'text' ? part.content : undefined);
  return { head, body: textOf(typeof text === 'string' ? text : part), isToolEntry };
}

/** Reads a call in OpenAI's format, `{"function": {"name", "arguments"}}`, or with both members at the top level. */
function entryOfCall(role: string, call: unknown): Entry {
  if (!isJsonObject(call)) return toolEntry(`${role} calls`, call);
  const called = isJsonObject(call.function) ? call.function : call;
  return toolEntry(`${role} calls ${nameOf(called.name)}`, called.arguments ?? called.args ?? called.input);
}

const toolEntry = (head: string, body: unknown): Entry => ({
  head,
  body: body === undefined || body === null ? '' : textOf(plain(body)),
  isToolEntry: true,
});

const plain = (value: unknown): unknown => (value instanceof RawJson ? value.parseExactly() : value);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : toJsonText(value));

/** Returns a name on one line. */
const nameOf = (name: unknown): string =>
  cutText((typeof name === 'string' ? name : '?').replace(/[\s\u0085[\]]+/g, ' '), NAME_MAX);

function toText(entries: readonly Entry[], isCut: boolean): string {
  const texts = entries.map(({ head, body }) => `[${head}]${body === '' ? '' : `\n${indented(body)}`}`);
  if (isCut) texts.push('[the rest is too large to show]');
  return texts.join('\n\n');
}

/** Indents every line by two spaces, after any line break of Unicode (UAX 14). */
const indented = (text: string): string => `  ${text.replace(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/g, '\n  ')}`;
