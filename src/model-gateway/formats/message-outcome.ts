import { countOf, type JsonObject, nameOf, objectOf } from './json-shape';
import { chatUsage, usageOfMessages } from './usage';

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
