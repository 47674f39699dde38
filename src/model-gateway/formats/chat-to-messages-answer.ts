import { callsOf, contentTextOf, firstChoiceOf, stopReasonOf } from './chat-outcome';
import { newId, toolUseId } from './foreign-id';
import { type JsonObject, nameOf, objectOf, textOf } from './json-shape';
import { toolInputOf } from './tool-input';
import { messagesUsage, usageOfChat } from './usage';

/**
 * Translates a chat completion to an Anthropic message. A refusal becomes a text, with the stop reason `refusal`. Reasoning is left
 * out, because Anthropic's thinking has a signature that no other provider can create.
 */
export function toMessagesAnswer(chat: JsonObject): JsonObject {
  const choice = firstChoiceOf(chat);
  const message = objectOf(choice.message);
  const refusal = nameOf(message.refusal);
  const calls = callsOf(message);
  const texts = [contentTextOf(message.content), refusal].filter((text) => text !== undefined);
  return {
    id: nameOf(chat.id) ?? newId('msg_'),
    type: 'message',
    role: 'assistant',
    model: textOf(chat.model) ?? '',
    content: [
      ...texts.map((text) => ({ type: 'text', text })),
      ...calls.map((call) => ({
        type: 'tool_use',
        id: toolUseId(call.id ?? newId('toolu_')),
        name: call.name,
        input: toolInputOf(call.arguments),
      })),
    ],
    stop_reason: stopReasonOf(choice.finish_reason, calls.length > 0, refusal !== undefined),
    stop_sequence: null,
    usage: messagesUsage(usageOfChat(chat)),
  };
}
