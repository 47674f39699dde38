import { newId, secondsNow } from './foreign-id';
import { given, isObject, type JsonObject, listOf, nameOf, textOf } from './json-shape';
import { chatUsageOfMessage, finishReasonOf, refusalOf } from './message-outcome';
import { toolArgumentsOf } from './tool-input';

export { ChatChunks } from './chat-chunks';

/**
 * Translates a message of Anthropic to a chat completion. Thinking becomes `reasoning_content`, as several servers of
 * this format have it. Blocks of tools that the provider runs are left out.
 *
 * @param model the name that the client used for the model; by default the one of the message
 */
export function toChatAnswer(message: JsonObject, model?: string): JsonObject {
  const blocks = listOf(message.content).filter(isObject);
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  return given({
    id: nameOf(message.id) ?? newId('chatcmpl-'),
    object: 'chat.completion',
    created: secondsNow(),
    model: model ?? textOf(message.model) ?? '',
    choices: [
      {
        index: 0,
        message: given({
          role: 'assistant',
          content: joined(blocks, 'text', 'text') ?? null,
          refusal: refusalOf(message) ?? null,
          reasoning_content: joined(blocks, 'thinking', 'thinking'),
          tool_calls: calls.length === 0 ? undefined : calls.map(callOf),
        }),
        finish_reason: finishReasonOf(message.stop_reason),
        logprobs: null,
      },
    ],
    usage: chatUsageOfMessage(message),
  });
}

function joined(blocks: readonly JsonObject[], type: string, member: string): string | undefined {
  const texts = blocks.filter((block) => block.type === type).map((block) => textOf(block[member]) ?? '');
  return texts.length === 0 ? undefined : texts.join('');
}

function callOf(block: JsonObject): JsonObject {
  return {
    id: nameOf(block.id) ?? newId('call_'),
    type: 'function',
    function: { name: textOf(block.name) ?? '', arguments: toolArgumentsOf(block.input) ?? '{}' },
  };
}
