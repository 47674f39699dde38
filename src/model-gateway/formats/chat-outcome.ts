import { isObject, type JsonObject, jsonText, listOf, nameOf, objectOf, textOf } from './json-shape';

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

/** Returns the characters that a model has generated for a message, or for a part of it that a stream brings. */
export function lengthOfMessage(message: JsonObject): number {
  const { content, refusal, reasoning_content, reasoning, function_call, tool_calls } = message;
  // servers have two names for reasoning, and some send both
  const texts = [contentTextOf(content), refusal, reasoning_content ?? reasoning, argumentsOf(function_call)];
  const calls = listOf(tool_calls).map((call) => argumentsOf(objectOf(call).function));
  return [...texts, ...calls].reduce<number>((sum, text) => sum + (textOf(text)?.length ?? 0), 0);
}

function argumentsOf(called: unknown): string | undefined {
  const text = objectOf(called).arguments;
  return isObject(text) ? jsonText(text) : textOf(text);
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
      return {
        id: nameOf(call.id),
        name: nameOf(objectOf(call.function).name) ?? '',
        arguments: argumentsOf(call.function) ?? '',
      };
    });
}
