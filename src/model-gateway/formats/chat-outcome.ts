import { isObject, type JsonObject, jsonText, listOf, nameOf, objectOf } from './json-shape';

const STOP_REASONS = new Map<unknown, string>([
  ['stop', 'end_turn'],
  ['length', 'max_tokens'],
  ['tool_calls', 'tool_use'],
  ['function_call', 'tool_use'],
  ['content_filter', 'refusal'],
]);

/**
 * Returns Anthropic's stop reason for a finish reason.
 *
 * @param hasCalls whether the answer has calls. Some servers then send `stop`, with which clients would not run the calls
 */
export function stopReasonOf(finishReason: unknown, hasCalls: boolean, hasRefusal: boolean): string {
  const reason = STOP_REASONS.get(finishReason) ?? 'end_turn';
  if (reason !== 'end_turn') return reason;
  if (hasRefusal) return 'refusal';
  return hasCalls ? 'tool_use' : reason;
}

/** Returns the first choice of a chat completion. */
export function firstChoiceOf(chat: JsonObject): JsonObject {
  return objectOf(listOf(chat.choices)[0]);
}

/** Returns the text of an assistant message. Some servers send an array of parts. */
export function contentTextOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return nameOf(content);
  return nameOf(content.map((part) => nameOf(objectOf(part).text) ?? '').join(''));
}

/** A tool call in a chat completion. */
export interface ChatCall {
  id: string | undefined;
  name: string;
  arguments: string;
}

/** Returns the calls of an assistant message. Arguments that are an object, as some servers send them, become a string. */
export function callsOf(message: JsonObject): ChatCall[] {
  return listOf(message.tool_calls)
    .filter(isObject)
    .map((call) => {
      const { name, arguments: text } = objectOf(call.function);
      return {
        id: nameOf(call.id),
        name: nameOf(name) ?? '',
        arguments: isObject(text) ? (jsonText(text) ?? '') : (nameOf(text) ?? ''),
      };
    });
}
