import { cutText, isJsonObject, RawJson, toJsonText } from '#platform/json';
import { parsedValue, type SessionMessage, textOfPart } from './messages';

/** Longest role or tool name, in characters. Longer ones are cut. */
const NAME_MAX = 100;

/** One utterance, tool call or tool result of a conversation. */
export interface TranscriptEntry {
  /** The speaker, or the tool that is called or returns a result. */
  heading: string;
  body: string;
  /** The tool that is called or returns a result. */
  tool?: string;
  isAnswer?: boolean;
}

/** Names of tools by the ids of their calls. */
export type ToolNames = ReadonlyMap<string, string>;
const NO_NAMES: ToolNames = new Map();

/** Returns the names of the tools that messages call, by the ids of the calls. */
export function toolNamesIn(messages: readonly SessionMessage[]): ToolNames {
  const names = new Map<string, string>();
  for (const { content, tool_calls } of messages) {
    for (const one of [partsIn(parsedValue(content)), parsedValue(tool_calls)].flat()) {
      const call = callOf(one);
      if (call?.id !== undefined && call.name !== undefined) names.set(call.id, call.name);
    }
  }
  return names;
}

/** Returns the entries of a message. @param names the tools whose calls the message may answer */
export function entriesOf(message: SessionMessage, names: ToolNames = NO_NAMES): TranscriptEntry[] {
  const role = displayName(message.role);
  const content = partsIn(parsedValue(message.content));
  const calls = parsedValue(message.tool_calls);
  const answered = message.name ?? names.get(message.tool_call_id ?? '') ?? 'tool';
  const toEntry = (text: string): TranscriptEntry =>
    role === 'tool' ? answerEntry(displayName(answered), text) : { heading: role, body: text };
  const contents = Array.isArray(content)
    ? content.map((part) => entryOfPart(role, part, names, toEntry))
    : content === null || content === undefined || content === ''
      ? []
      : [toEntry(textOf(content))];
  return [...contents, ...(Array.isArray(calls) ? calls.map((call) => entryOfCall(role, call)) : [])];
}

/** A part of a message: something said, a tool call, or the result of one. */
export type MessagePart =
  | { kind: 'content'; value: unknown }
  | { kind: 'call'; id: string | undefined; name: string | undefined; args: unknown }
  | { kind: 'result'; id: string | undefined; name: string | undefined; value: unknown };

/** Returns the parts of a message in order. JSON texts of arguments and results are parsed. */
export function partsOf(message: SessionMessage): MessagePart[] {
  const content = partsIn(parsedValue(message.content));
  const calls = parsedValue(message.tool_calls);
  const isEmpty = content === null || content === undefined || content === '';
  const toPart = (value: unknown): MessagePart =>
    message.role === 'tool'
      ? { kind: 'result', id: message.tool_call_id, name: message.name, value: jsonValue(value) }
      : { kind: 'content', value };
  const contents = Array.isArray(content)
    ? content.map((part) => partOf(part) ?? toPart(textOfPart(part) ?? part))
    : isEmpty && message.role !== 'tool'
      ? []
      : [toPart(content ?? null)];
  return [...contents, ...(Array.isArray(calls) ? calls.map(callPart) : [])];
}

function partOf(part: unknown): MessagePart | undefined {
  if (!isJsonObject(part)) return undefined;
  if (CALLS.has(part.type as string)) return callPart(part);
  if (!ANSWERS.has(part.type as string)) return undefined;
  const { id, name, value } = answerOf(part);
  return {
    kind: 'result',
    id: typeof id === 'string' ? id : undefined,
    name: typeof name === 'string' ? name : undefined,
    value: jsonValue(value),
  };
}

function callPart(value: unknown): MessagePart {
  const call = callOf(value) ?? { id: undefined, name: undefined, args: value };
  return { kind: 'call', ...call, args: jsonValue(call.args) };
}

/** Parses JSON text of an object or a list. Numbers keep their digits. */
export function jsonValue(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return new RawJson(value).parseExactly();
  } catch {
    return value;
  }
}

/** Parses the parts of a message that was flattened into texts. */
const partsIn = (content: unknown): unknown =>
  typeof content === 'string' && /^\s*\[\s*\{\s*"type"/.test(content) ? jsonOrText(content) : content;

/** Parses JSON text. Returns any other text unchanged. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const CALLS = new Set(['tool_call', 'tool_use', 'tool-call', 'function_call']);
const ANSWERS = new Set(['tool_call_response', 'tool_result', 'tool-result', 'function_call_output']);

/** Reads a part of a message in the format of OpenTelemetry (`tool_call`), Anthropic (`tool_use`) or the AI SDK (`tool-call`). */
function entryOfPart(
  role: string,
  part: unknown,
  names: ToolNames,
  toEntry: (text: string) => TranscriptEntry,
): TranscriptEntry {
  if (isJsonObject(part) && CALLS.has(part.type as string)) return entryOfCall(role, part);
  if (isJsonObject(part) && ANSWERS.has(part.type as string)) {
    const { id, name, value } = answerOf(part);
    const known = name ?? (typeof id === 'string' ? names.get(id) : undefined);
    return answerEntry(displayName(known ?? id ?? 'tool'), value);
  }
  return toEntry(textOfPart(part) ?? textOf(part));
}

const answerOf = (part: Record<string, unknown>) => ({
  id: part.id ?? part.tool_use_id ?? part.tool_call_id ?? part.toolCallId ?? part.call_id,
  name: part.name ?? part.toolName,
  value: part.response ?? part.result ?? outputOf(part.output) ?? part.content,
});

/** Returns the result in an output of the AI SDK: `{"type": "json", "value": {…}}`. */
const outputOf = (output: unknown): unknown =>
  isJsonObject(output) && typeof output.type === 'string' && output.value !== undefined
    ? output.value
    : output;

/** Reads a call in OpenAI's format, `{"function": {"name", "arguments"}}`, or with these members at the top level. */
function callOf(value: unknown) {
  if (!isJsonObject(value)) return undefined;
  const called = isJsonObject(value.function) ? value.function : value;
  const name = called.name ?? called.toolName;
  const id = value.id ?? value.tool_call_id ?? value.toolCallId ?? value.call_id;
  return {
    id: typeof id === 'string' ? id : undefined,
    name: typeof name === 'string' ? name : undefined,
    args: called.arguments ?? called.args ?? called.input,
  };
}

function entryOfCall(role: string, value: unknown): TranscriptEntry {
  const call = callOf(value);
  if (!call) return { heading: `${role} calls`, body: bodyOf(value), tool: '' };
  return callEntry(`${role} `, displayName(call.name), call.args);
}

export const callEntry = (caller: string, name: string, args: unknown): TranscriptEntry => ({
  heading: `${caller}calls ${name}`,
  body: bodyOf(args),
  tool: name,
});

export const answerEntry = (name: string, result: unknown): TranscriptEntry => ({
  heading: `${name} answers`,
  body: bodyOf(result),
  tool: name,
  isAnswer: true,
});

export const bodyOf = (value: unknown): string =>
  value === undefined || value === null ? '' : textOf(parsedValue(value));

const textOf = (value: unknown): string => (typeof value === 'string' ? value : toJsonText(value));

/** Returns a name for a heading: short, and on one line. */
export const displayName = (name: unknown): string =>
  cutText((typeof name === 'string' ? name : '?').replace(/[\s\u0085[\]]+/g, ' '), NAME_MAX);
