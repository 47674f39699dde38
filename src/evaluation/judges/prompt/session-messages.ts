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
 * Returns the messages of a session that has only traces, one turn from each: the last user message in the root span's
 * input, and its output. Traces whose input repeats the conversation so far thus appear once. The first trace contributes
 * all of its input, so that the beginning of the session is included.
 */
export function messagesOfTraces(traces: readonly TraceRow[]): SessionMessage[] {
  return traces.flatMap((trace, index) => {
    const given = messagesIn(trace.input, 'user');
    const asked = index === 0 ? given : given.slice(given.findLastIndex(isOf('user')));
    const turn = [...asked, ...messagesIn(trace.output, 'assistant')];
    return turn.map((message) => ({ ...message, trace_id: trace.trace_id }));
  });
}

/** Returns the content of the first user message. */
export const firstUserContent = (messages: readonly SessionMessage[]): unknown =>
  messages.find(isOf('user'))?.content;

/** Returns the content of the last assistant message. */
export const lastAssistantContent = (messages: readonly SessionMessage[]): unknown =>
  messages.findLast(isOf('assistant'))?.content;

const isOf =
  (role: string) =>
  (message: SessionMessage): boolean =>
    message.role === role;

/** Reads a span's content as messages: a list of messages as it is, anything else as one message of `role`. */
export function messagesIn(content: unknown, role: string): SessionMessage[] {
  const value = content instanceof RawJson ? content.parse() : content;
  if (value === null || value === undefined) return [];
  const listed = Array.isArray(value) ? value : isJsonObject(value) ? value.messages : undefined;
  if (Array.isArray(listed) && listed.length > 0 && listed.every(isMessage)) {
    return listed.map((message) => ({
      role: roleOf(message, role),
      content: contentOf(message),
      ...(Array.isArray(message.tool_calls) && { tool_calls: message.tool_calls }),
      ...(typeof message.tool_call_id === 'string' && { tool_call_id: message.tool_call_id }),
      ...(typeof message.name === 'string' && { name: message.name }),
    }));
  }
  return [{ role, content: value }];
}

/** Roles by other conventions. */
const ROLES = new Map([
  ['human', 'user'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
]);

const roleOf = ({ role }: Record<string, unknown>, otherwise: string): string =>
  typeof role === 'string' ? (ROLES.get(role) ?? role) : otherwise;

/**
 * Returns the `content` of a message. Messages of the current OpenTelemetry conventions have `parts` instead: returns their
 * texts joined, or all parts where some are not text.
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
