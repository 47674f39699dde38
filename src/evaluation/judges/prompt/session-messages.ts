import { isJsonObject, RawJson } from '#platform/json';
import type { TraceRow } from '../../../telemetry';

/** A message of a session, as a scorer sees it. */
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

/**
 * Returns the messages of a session that has only traces. Each trace contributes one turn: the last user message in the
 * root span's input, and the output, because the input may repeat the conversation so far. The first trace contributes all
 * of its input.
 */
export function messagesOfTraces(traces: readonly TraceRow[]): SessionMessage[] {
  return traces.flatMap((trace, index) => {
    const input = messagesIn(trace.input, 'user');
    const request = index === 0 ? input : input.slice(input.findLastIndex(hasRole('user')));
    const turn = [...request, ...messagesIn(trace.output, 'assistant')];
    return turn.map((message) => ({ ...message, trace_id: trace.trace_id }));
  });
}

/** Returns the content of the first user message. */
export const firstUserContent = (messages: readonly SessionMessage[]): unknown =>
  messages.find(hasRole('user'))?.content;

/** Returns the content of the last assistant message. */
export const lastAssistantContent = (messages: readonly SessionMessage[]): unknown =>
  messages.findLast(hasRole('assistant'))?.content;

const hasRole =
  (role: string) =>
  (message: SessionMessage): boolean =>
    message.role === role;

/** Reads a span's content as messages. Content that is not a list of messages becomes one message of `role`. */
export function messagesIn(content: unknown, role: string): SessionMessage[] {
  const value = content instanceof RawJson ? content.parseExactly() : content;
  if (value === null || value === undefined) return [];
  const messages = Array.isArray(value) ? value : isJsonObject(value) ? value.messages : undefined;
  if (Array.isArray(messages) && messages.length > 0 && messages.every(isMessage)) {
    return messages.map((message) => ({
      role: roleOf(message, role),
      content: contentOf(message),
      ...(Array.isArray(message.tool_calls) && { tool_calls: message.tool_calls }),
      ...(typeof message.tool_call_id === 'string' && { tool_call_id: message.tool_call_id }),
      ...(typeof message.name === 'string' && { name: message.name }),
    }));
  }
  return [{ role, content: value }];
}

/** Names of roles in other conventions. */
const ROLES = new Map([
  ['human', 'user'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
]);

const roleOf = ({ role }: Record<string, unknown>, otherwise: string): string =>
  typeof role === 'string' ? (ROLES.get(role) ?? role) : otherwise;

/**
 * Returns the `content` of a message. A message of the current OpenTelemetry conventions has `parts` instead; returns their
 * joined texts, or the parts themselves if any is not a text.
 */
function contentOf(message: Record<string, unknown>): unknown {
  if (message.content !== undefined || !Array.isArray(message.parts)) return message.content ?? null;
  const parts = message.parts as unknown[];
  const texts = parts.map((part) => (isJsonObject(part) && part.type === 'text' ? part.content : undefined));
  return texts.every((text) => typeof text === 'string') ? texts.join('') : parts;
}

const isMessage = (value: unknown): value is Record<string, unknown> =>
  isJsonObject(value) &&
  (typeof value.role === 'string' ||
    value.content !== undefined ||
    Array.isArray(value.parts) ||
    Array.isArray(value.tool_calls));
