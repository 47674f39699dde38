import { isJsonObject } from '#platform/json';
import { toolCallOf } from '../scorers';
import {
  answerEntry,
  bodyOf,
  callEntry,
  contentOf,
  Conversation,
  entriesOf,
  type TranscriptEntry,
  displayName,
  parsedValue,
  type SessionMessage,
  type ToolNames,
  toolNamesIn,
} from '../../telemetry';

/** Consecutive messages of one trace. */
interface Turn {
  traceId: unknown;
  /** Whether the assistant says something in the last message. */
  isAnswered: boolean;
  /** The entries of each message. */
  entries: TranscriptEntry[][];
}

type JsonObject = Record<string, unknown>;

/**
 * Returns a session as a transcript: its messages, tool calls and tool results in order. Takes tool calls from the messages.
 * Calls of tools that the messages of a trace do not name come from the trace's spans, and are inserted before its last
 * answer. Indents every line of content by two spaces, so that content cannot look like the heading of an entry.
 *
 * @param target the trace to judge, if the target is not the session; the session then has no spans of other traces
 */
export function sessionTranscript(session: JsonObject, target?: unknown): string {
  const traces = Array.isArray(session.traces) ? session.traces.filter(isJsonObject) : [];
  const spansOf = new Map(traces.map((trace) => [trace.trace_id, trace.spans]));
  if (isJsonObject(target)) spansOf.set(target.trace_id, target.spans);
  const messages = Array.isArray(session.messages) ? (session.messages as SessionMessage[]) : [];
  const turns = turnsOf(messages, toolNamesIn(messages));
  const lastTurnOf = new Map(turns.map((turn) => [turn.traceId, turn]));
  const tracesWithoutMessages = traces.filter(({ trace_id }) => !lastTurnOf.has(trace_id));
  const entries = [
    ...turns.flatMap((turn) => {
      if (lastTurnOf.get(turn.traceId) !== turn) return turn.entries.flat();
      const traceTurns = turns.filter(({ traceId }) => traceId === turn.traceId);
      return withCalls(turn, traceTurns, spansOf.get(turn.traceId));
    }),
    ...tracesWithoutMessages.flatMap(({ trace_id }) => callsOf(spansOf.get(trace_id))),
  ];
  return toText(entries, session.is_truncated === true);
}

/** Returns a trace as a transcript: the messages of its root span and of its model calls, each once, and its tool calls. */
export function traceTranscript(trace: JsonObject): string {
  const messages = new Conversation().add(trace).map((message) => ({ ...message, trace_id: null }));
  const [turn = { traceId: null, isAnswered: false, entries: [] }] = turnsOf(messages, toolNamesIn(messages));
  return toText(withCalls(turn, [turn], trace.spans), lacksContent(trace));
}

/** Tells whether some content of a trace is missing from both its spans and its own input and output. */
export function lacksContent({ is_truncated, span_count, spans }: JsonObject): boolean {
  if (is_truncated !== true) return false;
  if (!Array.isArray(spans)) return true;
  const isEmpty = (value: unknown): boolean => !isJsonObject(value) || Object.keys(value).length === 0;
  const isCut = (span: unknown): boolean =>
    isJsonObject(span) && span.is_truncated === true && isEmpty(parsedValue(span.attributes));
  return !(typeof span_count === 'number' && spans.length >= span_count) || spans.some(isCut);
}

function turnsOf(messages: readonly SessionMessage[], names: ToolNames): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    let turn = turns.at(-1);
    if (!turn || turn.traceId !== message.trace_id) {
      turn = { traceId: message.trace_id, isAnswered: false, entries: [] };
      turns.push(turn);
    }
    turn.entries.push(entriesOf(message, names));
    turn.isAnswered =
      message.role === 'assistant' && turn.entries.at(-1)!.some(({ tool }) => tool === undefined);
  }
  return turns;
}

/**
 * Inserts the tool calls that only the spans of a trace have, before the answer of its last turn. If the messages have a
 * result of a tool that no span names, they are assumed to have the results of all tools.
 */
function withCalls(
  { isAnswered, entries }: Turn,
  traceTurns: readonly Turn[],
  spans: unknown,
): TranscriptEntry[] {
  const called = callsOf(spans);
  const spanTools = new Set(called.map(({ tool }) => tool));
  const named = traceTurns.flatMap((turn) => turn.entries.flat()).filter(({ tool }) => tool !== undefined);
  const tools = new Set(named.map(({ tool }) => tool));
  const answered = new Set(named.filter(({ isAnswer }) => isAnswer).map(({ tool }) => tool));
  const areAllAnswered = [...answered].some((tool) => !spanTools.has(tool));
  const missing = called.filter(({ tool, isAnswer }) =>
    isAnswer ? !areAllAnswered && !answered.has(tool) : !tools.has(tool),
  );
  const answerAt = isAnswered ? entries.length - 1 : entries.length;
  return [...entries.slice(0, answerAt), missing, ...entries.slice(answerAt)].flat();
}

function callsOf(spans: unknown): TranscriptEntry[] {
  if (!Array.isArray(spans)) return [];
  return spans.filter(isJsonObject).flatMap((span) => {
    const call = toolCallOf({ ...span, attributes: parsedValue(span.attributes) });
    if (!call) return [];
    const content = contentOf(span);
    const name = displayName(call.name);
    const called = callEntry('', name, call.args === undefined ? content.input : call.args);
    const result = call.result === undefined ? (content.output ?? undefined) : call.result;
    const failure = failureOf(span.status);
    if (failure === undefined) return result === undefined ? [called] : [called, answerEntry(name, result)];
    const body = [failure, bodyOf(result)].filter((text) => text !== '').join('\n');
    return [called, { heading: `${name} fails`, body, tool: name, isAnswer: true }];
  });
}

/** Returns the error message of a failed span, which may be empty. Returns undefined for a span that did not fail. */
function failureOf(status: unknown): string | undefined {
  const value = parsedValue(status);
  if (!isJsonObject(value) || value.code !== 'error') return undefined;
  return typeof value.message === 'string' ? value.message : '';
}

function toText(entries: readonly TranscriptEntry[], isCut: boolean): string {
  const texts = entries.map(({ heading, body }) => `[${heading}]${body === '' ? '' : `\n${indented(body)}`}`);
  if (isCut) texts.push('[the rest is too large to show]');
  return texts.join('\n\n');
}

/** Indents every line by two spaces, after any line break of Unicode (UAX 14). */
const indented = (text: string): string => `  ${text.replace(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/g, '\n  ')}`;
