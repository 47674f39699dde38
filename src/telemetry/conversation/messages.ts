import { isJsonObject, RawJson } from '#platform/json';

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

/** Returns a value as JavaScript has it: parsed if it is stored JSON. */
export const parsedValue = (value: unknown): unknown =>
  value instanceof RawJson ? value.parseExactly() : value;

function isEmpty(value: unknown): boolean {
  const text = value instanceof RawJson ? value.text : value;
  return text === undefined || text === null || text === '' || text === 'null' || text === '""';
}

/** Reads a span's content as messages. Content that is not a list of messages becomes one message of `role`. */
export function messagesIn(content: unknown, role: string): SessionMessage[] {
  const value = parsedValue(content);
  if (value === null || value === undefined) return [];
  const messages = messageListOf(value);
  if (messages) return messages.map((message) => toMessage(message, role));
  const isCalls = role === 'assistant' && Array.isArray(value) && value.length > 0 && value.every(isCall);
  return [isCalls ? { role, content: null, tool_calls: value } : { role, content: value }];
}

/** Returns the messages if a value is a list of messages, or an object with one. */
export function messageListOf(value: unknown): Record<string, unknown>[] | undefined {
  const list = Array.isArray(value) ? value : isJsonObject(value) ? value.messages : undefined;
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const messages = list.map(fromLangChain);
  return messages.every(isMessage) ? messages : undefined;
}

/** Roles of LangChain's classes of messages. */
const LANGCHAIN_ROLES = new Map([
  ['HumanMessage', 'user'],
  ['AIMessage', 'assistant'],
  ['AIMessageChunk', 'assistant'],
  ['SystemMessage', 'system'],
  ['ToolMessage', 'tool'],
]);

/** Reads a message that LangChain has serialized: `{"lc": 1, "id": [..., "HumanMessage"], "kwargs": {"content"}}`. */
function fromLangChain(value: unknown): unknown {
  if (!isJsonObject(value) || value.lc === undefined || !isJsonObject(value.kwargs)) return value;
  const role = Array.isArray(value.id) ? LANGCHAIN_ROLES.get(value.id.at(-1) as string) : undefined;
  // the id of the message is not the one of a call
  const { id: _, ...members } = value.kwargs;
  return { ...members, ...(role !== undefined && { role }) };
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
export function textOfPart(part: unknown): string | undefined {
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
