import { isJsonObject, RawJson, toJsonText } from '#platform/json';
import { toolCallOf, cutText } from '../../scorers';
import { messagesIn, type SessionMessage } from './session-messages';

/** Characters that are shown of a role or a tool's name. */
const NAME_MAX = 100;

/** One utterance, tool call or tool result of a conversation. */
interface Entry {
  /** The speaker, or the tool that was called or answered. */
  head: string;
  body: string;
  isOfTool: boolean;
}

/** Consecutive messages of one trace. */
interface Turn {
  traceId: unknown;
  /** Whether the last message is the assistant's. */
  isAnswered: boolean;
  /** The entries of each message. */
  entries: Entry[][];
}

type JsonObject = Record<string, unknown>;

/**
 * Returns a session as a transcript: who said what, with tool calls and their results, in order. Calls come from the
 * messages or, for a trace whose messages contain none, from its spans, and then stand before its last answer. Every line
 * of content is indented by two spaces, so that no content looks like the head of an entry.
 *
 * @param judged the trace that is judged, if it is not the session; only its own spans are shown
 */
export function sessionTranscript(session: JsonObject, judged?: unknown): string {
  const traces = Array.isArray(session.traces) ? session.traces.filter(isJsonObject) : [];
  const spansOf = new Map(traces.map((trace) => [trace.trace_id, trace.spans]));
  if (isJsonObject(judged)) spansOf.set(judged.trace_id, judged.spans);
  const messages = Array.isArray(session.messages) ? (session.messages as SessionMessage[]) : [];
  const turns = turnsOf(messages);
  const lastOf = new Map(turns.map((turn) => [turn.traceId, turn]));
  const withCallsInMessages = new Set(turns.filter(hasCalls).map(({ traceId }) => traceId));
  const silent = traces.filter(({ trace_id }) => !lastOf.has(trace_id));
  const entries = [
    ...turns.flatMap((turn) => {
      const isPlace = lastOf.get(turn.traceId) === turn && !withCallsInMessages.has(turn.traceId);
      return isPlace ? withCalls(turn, spansOf.get(turn.traceId)) : turn.entries.flat();
    }),
    ...silent.flatMap(({ trace_id }) => callsOf(spansOf.get(trace_id))),
  ];
  return written(entries, session.is_truncated === true);
}

/** Returns a trace as a transcript: the input and output of its root, with the tool calls in between. */
export function traceTranscript(trace: JsonObject): string {
  const messages = [...messagesIn(trace.input, 'user'), ...messagesIn(trace.output, 'assistant')];
  const [turn = EMPTY_TURN] = turnsOf(messages);
  const entries = hasCalls(turn) ? turn.entries.flat() : withCalls(turn, trace.spans);
  return written(entries, trace.is_truncated === true);
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

const hasCalls = ({ entries }: Turn): boolean => entries.flat().some(({ isOfTool }) => isOfTool);

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
      return [ofTool(`calls ${name}`, call.args), failed(name, failure, call.result)];
    const result = call.result === undefined ? [] : [ofTool(`${name} answers`, call.result)];
    return [ofTool(`calls ${name}`, call.args), ...result];
  });
}

/** Returns the message of a failed span, which may be empty. Undefined for a span that did not fail. */
function failureOf(status: unknown): string | undefined {
  const given = plain(status);
  if (!isJsonObject(given) || given.code !== 'error') return undefined;
  return typeof given.message === 'string' ? given.message : '';
}

/** Makes the entry of a failed call, with the reason and any result. */
function failed(name: string, why: string, result: unknown): Entry {
  const { head, body, isOfTool } = ofTool(`${name} fails`, result);
  return { head, body: [why, body].filter((text) => text !== '').join('\n'), isOfTool };
}

function entriesOf(message: SessionMessage): Entry[] {
  const role = nameOf(message.role);
  const content = plain(message.content);
  const calls = plain(message.tool_calls);
  const head = role === 'tool' ? `${nameOf(message.name ?? 'tool')} answers` : role;
  const said = Array.isArray(content)
    ? content.map((part) => entryOfPart(role, head, part))
    : content === null || content === undefined || content === ''
      ? []
      : [{ head, body: textOf(content), isOfTool: role === 'tool' }];
  return [...said, ...(Array.isArray(calls) ? calls.map((call) => entryOfCall(role, call)) : [])];
}

/** Reads a part of a message, by the OpenTelemetry conventions (`tool_call`) or in Anthropic's format (`tool_use`). */
function entryOfPart(role: string, head: string, part: unknown): Entry {
  const isOfTool = role === 'tool';
  if (!isJsonObject(part)) return { head, body: textOf(part), isOfTool };
  const { type, name, id, tool_use_id } = part;
  if (type === 'tool_call' || type === 'tool_use') {
    return ofTool(`${role} calls ${nameOf(name)}`, part.arguments ?? part.input);
  }
  if (type === 'tool_call_response' || type === 'tool_result') {
    const of = nameOf(name ?? id ?? tool_use_id ?? 'tool');
    return ofTool(`${of} answers`, part.response ?? part.result ?? part.content);
  }
  const text = part.text ?? (type === 'text' ? part.content : undefined);
  return { head, body: textOf(typeof text === 'string' ? text : part), isOfTool };
}

/** Reads a call in OpenAI's format, `{"function": {"name", "arguments"}}`, or with both members at the top. */
function entryOfCall(role: string, call: unknown): Entry {
  if (!isJsonObject(call)) return ofTool(`${role} calls`, call);
  const called = isJsonObject(call.function) ? call.function : call;
  return ofTool(`${role} calls ${nameOf(called.name)}`, called.arguments ?? called.args ?? called.input);
}

const ofTool = (head: string, body: unknown): Entry => ({
  head,
  body: body === undefined || body === null ? '' : textOf(plain(body)),
  isOfTool: true,
});

const plain = (value: unknown): unknown => (value instanceof RawJson ? value.parse() : value);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : toJsonText(value));

/** Returns a name on one line. */
const nameOf = (name: unknown): string =>
  cutText((typeof name === 'string' ? name : '?').replace(/[\s\u0085[\]]+/g, ' '), NAME_MAX);

function written(entries: readonly Entry[], isCut: boolean): string {
  const texts = entries.map(({ head, body }) => `[${head}]${body === '' ? '' : `\n${indented(body)}`}`);
  if (isCut) texts.push('[what follows is too large to be shown]');
  return texts.join('\n\n');
}

/** Indents every line by two spaces, at all line ends that Unicode has (UAX 14). */
const indented = (text: string): string => `  ${text.replace(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/g, '\n  ')}`;
