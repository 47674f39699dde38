import { isJsonObject, RawJson, toJsonText } from '#platform/json';
import { toolCallOf } from '../../scorers/engine/checks/tool-call.reader';
import { cutText } from '../../scorers/engine/limits';
import type { SessionMessage } from '../../scoring/session-message';
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

/** Messages of one trace that follow each other. */
interface Turn {
  traceId: unknown;
  /** The last of them is the assistant's. */
  isAnswered: boolean;
  /** What each message tells. */
  told: Entry[][];
}

type JsonObject = Record<string, unknown>;

/**
 * A session as a transcript: who said what, with the calls of tools and their answers, in their order. Calls are taken
 * from the messages; of a trace whose messages tell none, from its spans, which stand before its last answer. A line of
 * what was said begins with two spaces, so that nothing that is said looks like the head of an entry.
 *
 * @param judged the trace that is judged, where it is one and not the session: its spans are shown there alone.
 */
export function sessionTranscript(session: JsonObject, judged?: unknown): string {
  const traces = Array.isArray(session.traces) ? session.traces.filter(isJsonObject) : [];
  const spansOf = new Map(traces.map((trace) => [trace.trace_id, trace.spans]));
  if (isJsonObject(judged)) spansOf.set(judged.trace_id, judged.spans);
  const messages = Array.isArray(session.messages) ? (session.messages as SessionMessage[]) : [];
  const turns = turnsOf(messages);
  const lastOf = new Map(turns.map((turn) => [turn.traceId, turn]));
  const withToldCalls = new Set(turns.filter(tellsCalls).map(({ traceId }) => traceId));
  const silent = traces.filter(({ trace_id }) => !lastOf.has(trace_id));
  const entries = [
    ...turns.flatMap((turn) => {
      const isPlace = lastOf.get(turn.traceId) === turn && !withToldCalls.has(turn.traceId);
      return isPlace ? withCalls(turn, spansOf.get(turn.traceId)) : turn.told.flat();
    }),
    ...silent.flatMap(({ trace_id }) => callsOf(spansOf.get(trace_id))),
  ];
  return written(entries, session.is_truncated === true);
}

/** A trace as a transcript: what its root was given and answered, with the calls of tools between. */
export function traceTranscript(trace: JsonObject): string {
  const messages = [...messagesIn(trace.input, 'user'), ...messagesIn(trace.output, 'assistant')];
  const [turn = NOTHING_TOLD] = turnsOf(messages);
  const entries = tellsCalls(turn) ? turn.told.flat() : withCalls(turn, trace.spans);
  return written(entries, trace.is_truncated === true);
}

const NOTHING_TOLD: Turn = { traceId: undefined, isAnswered: false, told: [] };

function turnsOf(messages: readonly SessionMessage[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    let turn = turns.at(-1);
    if (!turn || turn.traceId !== message.trace_id) {
      turn = { traceId: message.trace_id, isAnswered: false, told: [] };
      turns.push(turn);
    }
    turn.told.push(entriesOf(message));
    turn.isAnswered = message.role === 'assistant';
  }
  return turns;
}

const tellsCalls = ({ told }: Turn): boolean => told.flat().some(({ isOfTool }) => isOfTool);

/** A turn with the calls that spans tell before its answer. */
function withCalls({ isAnswered, told }: Turn, spans: unknown): Entry[] {
  const answerAt = isAnswered ? told.length - 1 : told.length;
  return [...told.slice(0, answerAt), callsOf(spans), ...told.slice(answerAt)].flat();
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

/** What the status of a span says of its failure, which may be nothing; undefined where it tells of none. */
function failureOf(status: unknown): string | undefined {
  const told = plain(status);
  if (!isJsonObject(told) || told.code !== 'error') return undefined;
  return typeof told.message === 'string' ? told.message : '';
}

/** A call that failed, with why, and with what was answered all the same. */
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

/** One part of a message, by the OpenTelemetry conventions (`tool_call`), or as Anthropic has them (`tool_use`). */
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
  cutText((typeof name === 'string' ? name : '?').replace(/[\s\u0085[\]]+/g, ' '), NAME_MAX);

function written(entries: readonly Entry[], isCut: boolean): string {
  const texts = entries.map(({ head, body }) => `[${head}]${body === '' ? '' : `\n${indented(body)}`}`);
  if (isCut) texts.push('[what follows is too large to be shown]');
  return texts.join('\n\n');
}

/** With every end of a line that Unicode has (UAX 14) as one that is followed by two spaces. */
const indented = (text: string): string => `  ${text.replace(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/g, '\n  ')}`;
