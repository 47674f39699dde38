import { isJsonObject } from '#platform/json';

/** The members of a chat completion that are used. */
export interface ChatAnswer {
  text: string;
  /** Why the model stopped: `stop`, `length`, `content_filter` … */
  finishReason: string | undefined;
  /** The model's reason for not answering. */
  refusal: string | undefined;
  logprobs: unknown;
  model: string | undefined;
  inputTokens: number | null;
  outputTokens: number | null;
  /** In US dollars. Only gateways report it. */
  costUsd: number | undefined;
}

/** Larger numbers are ignored. */
const TOKENS_MAX = 1e9;
const COST_MAX = 1e6;

/** Reads a chat completion. Returns undefined for anything else. */
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

/** Returns the text of a message. Some servers send it in parts. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return stringOf(content) ?? '';
  return content.map((part) => (isJsonObject(part) ? (stringOf(part.text) ?? '') : '')).join('');
}

const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const countOf = (value: unknown, max = TOKENS_MAX): number | null =>
  typeof value === 'number' && value >= 0 && value <= max ? value : null;
