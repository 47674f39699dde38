import { isJsonObject } from '#platform/json';

/** What of a chat completion is read. */
export interface ChatAnswer {
  text: string;
  /** Why the model stopped: `stop`, `length`, `content_filter` … */
  finishReason: string | undefined;
  /** Why it would not answer. */
  refusal: string | undefined;
  logprobs: unknown;
  model: string | undefined;
  inputTokens: number | null;
  outputTokens: number | null;
  /** In US dollars, where the server says it (as gateways do). */
  costUsd: number | undefined;
}

/** Figures beyond these are none. */
const TOKENS_MAX = 1e9;
const COST_MAX = 1e6;

/** Reads a chat completion; undefined for what is none. */
export function readChatAnswer(value: unknown): ChatAnswer | undefined {
  const choice =
    isJsonObject(value) && Array.isArray(value.choices) ? (value.choices[0] as unknown) : undefined;
  const message = isJsonObject(choice) ? choice.message : undefined;
  if (!isJsonObject(value) || !isJsonObject(choice) || !isJsonObject(message)) return undefined;
  const usage = isJsonObject(value.usage) ? value.usage : {};
  return {
    text: textOf(message.content),
    finishReason: stringOf(choice.finish_reason),
    refusal: stringOf(message.refusal),
    logprobs: choice.logprobs,
    model: stringOf(value.model),
    inputTokens: countOf(usage.prompt_tokens),
    outputTokens: countOf(usage.completion_tokens),
    costUsd: countOf(usage.cost, COST_MAX) ?? undefined,
  };
}

/** The text of a message, which some servers give in parts. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return stringOf(content) ?? '';
  return content.map((part) => (isJsonObject(part) ? (stringOf(part.text) ?? '') : '')).join('');
}

const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const countOf = (value: unknown, max = TOKENS_MAX): number | null =>
  typeof value === 'number' && value >= 0 && value <= max ? value : null;
