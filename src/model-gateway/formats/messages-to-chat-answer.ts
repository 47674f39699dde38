import { newId, secondsNow } from './foreign-id';
import {
  countOf,
  isObject,
  type JsonObject,
  listOf,
  nameOf,
  objectOf,
  textOf,
  withoutUndefined,
} from './json-shape';
import { toolArgumentsOf } from './tool-input';
import { chatUsage, usageOfMessages } from './usage';

/**
 * Translates an Anthropic message to a chat completion. Thinking becomes `reasoning_content`, a member that several servers use.
 * Blocks of tools that the provider runs itself are left out.
 */
export function toChatAnswer(message: JsonObject): JsonObject {
  const blocks = listOf(message.content).filter(isObject);
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  return withoutUndefined({
    id: nameOf(message.id) ?? newId('chatcmpl-'),
    object: 'chat.completion',
    created: secondsNow(),
    model: textOf(message.model) ?? '',
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

const FINISH_REASONS = new Map<unknown, string>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
]);

/** Returns the finish reason of a chat completion for Anthropic's stop reason. Unknown reasons become `stop`. */
export function finishReasonOf(stopReason: unknown): string {
  return FINISH_REASONS.get(stopReason) ?? 'stop';
}

/** Returns the explanation of a refusal, which only some refusals have. */
export function refusalOf(message: JsonObject): string | undefined {
  return message.stop_reason === 'refusal' ? nameOf(objectOf(message.stop_details).explanation) : undefined;
}

/** Returns the usage of a message in the format of a chat completion, or undefined if the message has none. */
export function chatUsageOfMessage(message: JsonObject): JsonObject | undefined {
  const details = objectOf(objectOf(message.usage).output_tokens_details);
  return chatUsage(usageOfMessages(message), countOf(details.thinking_tokens));
}
