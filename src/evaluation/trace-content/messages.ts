import { cutText, isJsonObject, RawJson, toJsonText } from '#platform/json';

/** A message of a conversation, as a scorer sees it. */
export interface SessionMessage {
  role: string;
  content: unknown;
  /** Tool calls, in the client's format. */
  tool_calls?: unknown;
  /** For a tool's message: the call that it answers. */
  tool_call_id?: string;
  /** For a tool's message: the tool. */
  name?: string;
  trace_id?: string | null;
  created_at?: Date;
}

/** Returns the content of the first user message. */
export const firstUserContent = (messages: readonly SessionMessage[]): unknown =>
  messages.find((message) => message.role === 'user' && !isEmpty(message.content))?.content;

/** Returns the content of the last assistant message; of a message that only calls tools, its calls. */
export function lastAssistantContent(messages: readonly SessionMessage[]): unknown {
  const last = messages.findLast(
    ({ role, content, tool_calls }) => role === 'assistant' && !(isEmpty(content) && isEmpty(tool_calls)),
  );
  return last && (isEmpty(last.content) ? last.tool_calls : last.content);
}

/** Parses a value if it is stored JSON. */
export const plain = (value: unknown): unknown => (value instanceof RawJson ? value.parseExactly() : value);

function isEmpty(value: unknown): boolean {
  const text = value instanceof RawJson ? value.text : value;
  return text === undefined || text === null || text === '' || text === 'null' || text === '""';
}

/** Reads a span's content as messages. Content that is not a list of messages becomes one message of `role`. */
export function messagesIn(content: unknown, role: string): SessionMessage[] {
  const value = plain(content);
  if (value === null || value === undefined) return [];
  const messages = messageListOf(value);
  if (messages) return messages.map((message) => toMessage(message, role));
  const isCalls = role === 'assistant' && Array.isArray(value) && value.length > 0 && value.every(isCall);
  return [isCalls ? { role, content: null, tool_calls: value } : { role, content: value }];
}

/** Returns the messages if a value is a list of messages, or an object with one. */
export function messageListOf(value: unknown): Record<string, unknown>[] | undefined {
  const list = Array.isArray(value) ? value : isJsonObject(value) ? value.messages : undefined;
  return Array.isArray(list) && list.length > 0 && list.every(isMessage) ? list : undefined;
}

function toMessage(value: Record<string, unknown>, defaultRole: string): SessionMessage {
  // The choice of a chat completion contains its message.
  const message = isJsonObject(value.message) ? { ...value, ...value.message } : value;
  const { tool_calls, tool_call_id, id, name } = message;
  const role = roleOf(message, defaultRole);
  const callId = tool_call_id ?? (role === 'tool' ? id : undefined);
  return {
    role,
    content: contentOf(message),
    ...(Array.isArray(tool_calls) && { tool_calls }),
    ...(typeof callId === 'string' && { tool_call_id: callId }),
    ...(typeof name === 'string' && { name }),
  };
}

/** Names of roles in other conventions. */
const ROLES = new Map([
  ['human', 'user'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
]);

const roleOf = ({ role }: Record<string, unknown>, defaultRole: string): string =>
  typeof role === 'string' ? (ROLES.get(role) ?? role) : defaultRole;

/** The members with the parts of a message: of most conventions, of OpenTelemetry, and of OpenInference. */
const PARTS = ['content', 'parts', 'contents'];

/**
 * Returns the content of a message. A message in parts has the joined texts of its parts, or the parts themselves if any
 * is not a text. A model's thoughts are omitted, because they are not part of its answer.
 */
function contentOf(message: Record<string, unknown>): unknown {
  const parts = PARTS.map((name) => message[name]).find(
    (value) => Array.isArray(value) && value.some(isTyped),
  );
  if (!Array.isArray(parts)) return message.content ?? null;
  const visible = parts.filter((part) => !isJsonObject(part) || !THOUGHTS.has(part.type as string));
  const texts = visible.map(textOfPart);
  return texts.every((text) => typeof text === 'string') ? texts.join('') : visible;
}

/** Tells whether a value is a part of a message, as opposed to data in a message. */
const isTyped = (part: unknown): boolean =>
  isJsonObject(part) && (typeof part.type === 'string' || typeof part.text === 'string');

const THOUGHTS = new Set(['reasoning', 'thinking']);

/** Returns the text of a part: `{"type": "text", "content"}` of OpenTelemetry, `{"text"}` of most others. */
function textOfPart(part: unknown): string | undefined {
  if (typeof part === 'string') return part;
  if (!isJsonObject(part)) return undefined;
  const text = part.text ?? (part.type === 'text' ? part.content : undefined);
  return typeof text === 'string' ? text : undefined;
}

const isMessage = (value: unknown): value is Record<string, unknown> =>
  isJsonObject(value) &&
  (typeof value.role === 'string' ||
    value.content !== undefined ||
    Array.isArray(value.parts) ||
    Array.isArray(value.contents) ||
    Array.isArray(value.tool_calls));

/** Whether a value is a tool call of the AI SDK. */
const isCall = (value: unknown): boolean => isJsonObject(value) && typeof value.toolName === 'string';

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
