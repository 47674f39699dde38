import { isObject, type JsonObject, jsonText, listOf, nameOf, objectOf } from './json-shape';

const STOP_REASONS = new Map<unknown, string>([
  ['stop', 'end_turn'],
  ['length', 'max_tokens'],
  ['tool_calls', 'tool_use'],
  ['function_call', 'tool_use'],
  ['content_filter', 'refusal'],
]);

/**
 * Returns the stop reason of Anthropic for a finish reason.
 *
 * @param hasCalls whether the answer has calls: some servers say `stop` then, and clients would not run the calls
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

/** Returns the text of a message of the assistant. Some servers send a list of parts. */
export function contentTextOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return nameOf(content);
  return nameOf(content.map((part) => nameOf(objectOf(part).text) ?? '').join(''));
}

/** A call of a tool in a chat completion. */
export interface ChatCall {
  id: string | undefined;
  name: string;
  arguments: string;
}

/** Returns the calls of a message of the assistant. Arguments that some servers send as an object become a text. */
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
