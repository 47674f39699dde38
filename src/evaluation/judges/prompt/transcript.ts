import { isJsonObject, RawJson, toJsonText } from '#platform/json';
import { toolCallOf } from '../../scorers/engine/checks/tool-call.reader';
import type { SessionMessage } from '../../scoring/agent-sessions';
import { messagesIn } from '../../scoring/session-messages';

/** Characters of a role or of a tool's name that are shown. */
const NAME_MAX = 100;

/** What was said or done at one point of a conversation. */
interface Entry {
  /** Who said it, or which tool was called or answered. */
  head: string;
  body: string;
  isOfTool: boolean;
}

interface Turn {
  traceId: unknown;
  messages: SessionMessage[];
}

type JsonObject = Record<string, unknown>;

/**
 * A session as a transcript: who said what, with the calls of tools and their answers, in their order. Calls are taken
 * from the messages; of a trace whose messages tell none, from its spans, which stand before its last answer. A line of
 * what was said begins with two spaces, so that nothing that is said looks like the head of an entry.
 */
export function sessionTranscript(session: JsonObject): string {
  const traces = Array.isArray(session.traces) ? session.traces.filter(isJsonObject) : [];
  const spansOf = new Map(traces.map((trace) => [trace.trace_id, trace.spans]));
  const messages = Array.isArray(session.messages) ? (session.messages as SessionMessage[]) : [];
  const told = turnsOf(messages);
  const known = new Set(told.map(({ traceId }) => traceId));
  const silent = traces.filter(({ trace_id }) => !known.has(trace_id));
  const entries = [...told, ...silent.map(({ trace_id }) => ({ traceId: trace_id, messages: [] }))].flatMap(
    (turn) => withCalls(turn.messages, spansOf.get(turn.traceId)),
  );
  return written(entries, session.is_truncated === true);
}

/** A trace as a transcript: what its root was given and answered, with the calls of tools between. */
export function traceTranscript(trace: JsonObject): string {
  const messages = [...messagesIn(trace.input, 'user'), ...messagesIn(trace.output, 'assistant')];
  return written(withCalls(messages, trace.spans), trace.is_truncated === true);
}

/** Messages of one trace that follow each other. */
function turnsOf(messages: readonly SessionMessage[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last && last.traceId === message.trace_id) last.messages.push(message);
    else turns.push({ traceId: message.trace_id, messages: [message] });
  }
  return turns;
}

function withCalls(messages: readonly SessionMessage[], spans: unknown): Entry[] {
  const entries = messages.map(entriesOf);
  if (entries.flat().some(({ isOfTool }) => isOfTool) || !Array.isArray(spans)) return entries.flat();
  const isAnswered = messages.at(-1)?.role === 'assistant';
  const before = isAnswered ? entries.slice(0, -1) : entries;
  const answer = isAnswered ? entries.slice(-1) : [];
  return [...before, callsOf(spans), ...answer].flat();
}

function callsOf(spans: readonly unknown[]): Entry[] {
  return spans.filter(isJsonObject).flatMap((span) => {
    const call = toolCallOf({ ...span, attributes: plain(span.attributes) });
    if (!call) return [];
    const failed = span.status === 'error' ? ' fails' : ' answers';
    const result = call.result === undefined ? [] : [ofTool(`${nameOf(call.name)}${failed}`, call.result)];
    const isFailed = span.status === 'error' && result.length === 0;
    return [
      ofTool(`calls ${nameOf(call.name)}`, call.args),
      ...(isFailed ? [ofTool(`${nameOf(call.name)} fails`, undefined)] : result),
    ];
  });
}

function entriesOf(message: SessionMessage): Entry[] {
  const role = nameOf(message.role);
  const content = plain(message.content);
  const calls = plain(message.tool_calls);
  const head = role === 'tool' ? `${nameOf(message.name ?? 'tool')} answers` : role;
  const said = Array.isArray(content)
    ? content.map((part) => entryOfPart(role, part))
    : content === null || content === undefined || content === ''
      ? []
      : [{ head, body: textOf(content), isOfTool: role === 'tool' }];
  return [...said, ...(Array.isArray(calls) ? calls.map((call) => entryOfCall(role, call)) : [])];
}

/** One part of a message, by the OpenTelemetry conventions (`tool_call`), or as Anthropic has them (`tool_use`). */
function entryOfPart(role: string, part: unknown): Entry {
  if (!isJsonObject(part)) return { head: role, body: textOf(part), isOfTool: false };
  const { type, name, id, tool_use_id } = part;
  if (type === 'tool_call' || type === 'tool_use') {
    return ofTool(`${role} calls ${nameOf(name)}`, part.arguments ?? part.input);
  }
  if (type === 'tool_call_response' || type === 'tool_result') {
    const of = nameOf(name ?? id ?? tool_use_id ?? 'tool');
    return ofTool(`${of} answers`, part.response ?? part.result ?? part.content);
  }
  const text = part.text ?? (type === 'text' ? part.content : undefined);
  return { head: role, body: textOf(typeof text === 'string' ? text : part), isOfTool: false };
}

/** A call as OpenAI's messages have it, `{"function": {"name", "arguments"}}`, or with both beside each other. */
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

/** A name on one line. */
const nameOf = (name: unknown): string =>
  (typeof name === 'string' ? name : '?').replace(/[\s[\]]+/g, ' ').slice(0, NAME_MAX);

function written(entries: readonly Entry[], isCut: boolean): string {
  const texts = entries.map(({ head, body }) => `[${head}]${body === '' ? '' : `\n${indented(body)}`}`);
  if (isCut) texts.push('[what follows is too large to be shown]');
  return texts.join('\n\n');
}

const indented = (text: string): string => `  ${text.replace(/\r\n|[\n\r\u2028\u2029]/g, '\n  ')}`;
