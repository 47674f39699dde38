import { newId, secondsNow } from './foreign-id';
import { isObject, type JsonObject, listOf, nameOf, textOf, withoutUndefined } from './json-shape';
import { chatUsageOfMessage, finishReasonOf, refusalOf } from './message-outcome';
import { toolArgumentsOf } from './tool-input';

export { ChatChunks } from './chat-chunks';

/**
 * Translates an Anthropic message to a chat completion. Thinking becomes `reasoning_content`, a member that several servers use.
 * Blocks of tools that the provider runs itself are left out.
 *
 * @param model the name that the client used for the model. Default: the name in the message
 */
export function toChatAnswer(message: JsonObject, model?: string): JsonObject {
  const blocks = listOf(message.content).filter(isObject);
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  return withoutUndefined({
    id: nameOf(message.id) ?? newId('chatcmpl-'),
    object: 'chat.completion',
    created: secondsNow(),
    model: model ?? textOf(message.model) ?? '',
    choices: [
      {
        index: 0,
        message: withoutUndefined({
          role: 'assistant',
          content: joinTexts(blocks, 'text', 'text') ?? null,
          refusal: refusalOf(message) ?? null,
          reasoning_content: joinTexts(blocks, 'thinking', 'thinking'),
          tool_calls: calls.length === 0 ? undefined : calls.map(callOf),
        }),
        finish_reason: finishReasonOf(message.stop_reason),
        logprobs: null,
      },
    ],
    usage: chatUsageOfMessage(message),
  });
}

function joinTexts(blocks: readonly JsonObject[], type: string, member: string): string | undefined {
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
