import { isJsonObject, RawJson } from '#platform/json';
import type { TraceRow } from '../../telemetry';
import type { SessionMessage } from './session-message';

/**
 * The messages of a session of which only traces are known, one turn from each: what the root span was given last by
 * the user, and what it answered. Conversations that repeat all that was said before are thereby told once. The first
 * trace gives all of its input, so that what the session began with is there.
 */
export function messagesOfTraces(traces: readonly TraceRow[]): SessionMessage[] {
  return traces.flatMap((trace, index) => {
    const given = messagesIn(trace.input, 'user');
    const asked = index === 0 ? given : given.slice(given.findLastIndex(isOf('user')));
    const turn = [...asked, ...messagesIn(trace.output, 'assistant')];
    return turn.map((message) => ({ ...message, trace_id: trace.trace_id }));
  });
}

/** The content of the first message of a user; undefined where there is none. */
export const firstUserContent = (messages: readonly SessionMessage[]): unknown =>
  messages.find(isOf('user'))?.content;

/** The content of the last message of an assistant. */
export const lastAssistantContent = (messages: readonly SessionMessage[]): unknown =>
  messages.findLast(isOf('assistant'))?.content;

const isOf =
  (role: string) =>
  (message: SessionMessage): boolean =>
    message.role === role;

/** A span's content as messages: a list of them as it is, anything else as one message of `role`. */
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

/** What the conventions call the roles of people and models. */
const ROLES = new Map([
  ['human', 'user'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
]);

const roleOf = ({ role }: Record<string, unknown>, otherwise: string): string =>
  typeof role === 'string' ? (ROLES.get(role) ?? role) : otherwise;

/**
 * `content` as it is. Messages of the present OpenTelemetry conventions have `parts`: their texts in one, or all of
 * them where there is other than text.
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
