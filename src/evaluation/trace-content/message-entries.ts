import { cutText, isJsonObject, toJsonText } from '#platform/json';
import { plain, type SessionMessage, textOfPart } from './messages';

/** Longest role or tool name, in characters. Longer ones are cut. */
const NAME_MAX = 100;

/** One utterance, tool call or tool result of a conversation. */
export interface Entry {
  /** The speaker, or the tool that is called or returns a result. */
  head: string;
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
    for (const one of [partsIn(plain(content)), plain(tool_calls)].flat()) {
      const call = callOf(one);
      if (call?.id !== undefined && call.name !== undefined) names.set(call.id, call.name);
    }
  }
  return names;
}

/** Returns the entries of a message. @param names the tools whose calls the message may answer */
export function entriesOf(message: SessionMessage, names: ToolNames = NO_NAMES): Entry[] {
  const role = nameOf(message.role);
  const content = partsIn(plain(message.content));
  const calls = plain(message.tool_calls);
  const answered = message.name ?? names.get(message.tool_call_id ?? '') ?? 'tool';
  const toEntry = (text: string): Entry =>
    role === 'tool' ? answerEntry(nameOf(answered), text) : { head: role, body: text };
  const contents = Array.isArray(content)
    ? content.map((part) => entryOfPart(role, part, names, toEntry))
    : content === null || content === undefined || content === ''
      ? []
      : [toEntry(textOf(content))];
  return [...contents, ...(Array.isArray(calls) ? calls.map((call) => entryOfCall(role, call)) : [])];
}

/** Parses the parts of a message that was flattened into texts. */
function partsIn(content: unknown): unknown {
  if (typeof content !== 'string' || !/^\s*\[\s*\{\s*"type"/.test(content)) return content;
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}

const CALLS = new Set(['tool_call', 'tool_use', 'tool-call', 'function_call']);
const ANSWERS = new Set(['tool_call_response', 'tool_result', 'tool-result', 'function_call_output']);

/** Reads a part of a message in the format of OpenTelemetry (`tool_call`), Anthropic (`tool_use`) or the AI SDK (`tool-call`). */
function entryOfPart(role: string, part: unknown, names: ToolNames, toEntry: (text: string) => Entry): Entry {
  if (isJsonObject(part) && CALLS.has(part.type as string)) return entryOfCall(role, part);
  if (isJsonObject(part) && ANSWERS.has(part.type as string)) {
    const id = part.id ?? part.tool_use_id ?? part.tool_call_id ?? part.toolCallId ?? part.call_id;
    const name = part.name ?? part.toolName ?? (typeof id === 'string' ? names.get(id) : undefined);
    return answerEntry(
      nameOf(name ?? id ?? 'tool'),
      part.response ?? part.result ?? part.output ?? part.content,
    );
  }
  return toEntry(textOfPart(part) ?? textOf(part));
}

/** A tool call in a message. */
interface Call {
  id: string | undefined;
  name: string | undefined;
  args: unknown;
}

/** Reads a call in OpenAI's format, `{"function": {"name", "arguments"}}`, or with these members at the top level. */
function callOf(value: unknown): Call | undefined {
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

function entryOfCall(role: string, value: unknown): Entry {
  const call = callOf(value);
  if (!call) return { head: `${role} calls`, body: bodyOf(value), tool: '' };
  return callEntry(`${role} `, nameOf(call.name), call.args);
}

export const callEntry = (caller: string, name: string, args: unknown): Entry => ({
  head: `${caller}calls ${name}`,
  body: bodyOf(args),
  tool: name,
});

export const answerEntry = (name: string, result: unknown): Entry => ({
  head: `${name} answers`,
  body: bodyOf(result),
  tool: name,
  isAnswer: true,
});

export const bodyOf = (value: unknown): string =>
  value === undefined || value === null ? '' : textOf(plain(value));

const textOf = (value: unknown): string => (typeof value === 'string' ? value : toJsonText(value));

/** Returns a name on one line. */
export const nameOf = (name: unknown): string =>
  cutText((typeof name === 'string' ? name : '?').replace(/[\s\u0085[\]]+/g, ' '), NAME_MAX);
