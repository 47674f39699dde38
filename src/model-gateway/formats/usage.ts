import { countOf, type JsonObject, objectOf } from './json-shape';

/** More tokens than any call uses. Sums of larger counts would exceed their database columns. */
export const TOKENS_MAX = 1_000_000_000;

/** The tokens of one call. Null means that the provider did not report a valid count. */
export interface Usage {
  /** Includes tokens read from and written to a cache. */
  inputTokens: number | null;
  /** Includes reasoning. */
  outputTokens: number | null;
  cachedInputTokens: number | null;
  cacheWriteTokens: number | null;
}

/** The usage of a call whose provider did not report it. */
export const NO_USAGE: Usage = {
  inputTokens: null,
  outputTokens: null,
  cachedInputTokens: null,
  cacheWriteTokens: null,
};

/** Returns a number of tokens, or null if the value cannot be one. */
export function tokensOf(value: unknown): number | null {
  const count = countOf(value);
  return count === null || count > TOKENS_MAX ? null : count;
}

/** Returns the tokens of two requests together. */
export function sumOfUsage(one: Usage, other: Usage): Usage {
  const sum = { ...one };
  for (const kind of Object.keys(NO_USAGE) as (keyof Usage)[]) {
    const count = other[kind];
    if (count !== null) sum[kind] = Math.min((sum[kind] ?? 0) + count, TOKENS_MAX);
  }
  return sum;
}

/** Reads the usage of a chat completion, or of the chunk that contains it. */
export function usageOfChat(answer: unknown): Usage {
  const usage = objectOf(objectOf(answer).usage);
  return openAiUsage(usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details, usage);
}

/** Reads the usage of a Response object. */
export function usageOfResponses(answer: unknown): Usage {
  const usage = objectOf(objectOf(answer).usage);
  return openAiUsage(usage.input_tokens, usage.output_tokens, usage.input_tokens_details);
}

/** Reads the usage of a message. Anthropic counts cache tokens separately from `input_tokens`. */
export function usageOfMessages(answer: unknown): Usage {
  const usage = objectOf(objectOf(answer).usage);
  const uncached = tokensOf(usage.input_tokens);
  const cachedInputTokens = tokensOf(usage.cache_read_input_tokens);
  const cacheWriteTokens = tokensOf(usage.cache_creation_input_tokens);
  return {
    inputTokens:
      uncached === null ? null : tokensOf(uncached + (cachedInputTokens ?? 0) + (cacheWriteTokens ?? 0)),
    outputTokens: tokensOf(usage.output_tokens),
    cachedInputTokens,
    cacheWriteTokens,
  };
}

/** Reads the usage of embeddings, which have no output. */
export function usageOfEmbeddings(answer: unknown): Usage {
  const inputTokens = tokensOf(objectOf(objectOf(answer).usage).prompt_tokens);
  return {
    inputTokens,
    outputTokens: inputTokens === null ? null : 0,
    cachedInputTokens: null,
    cacheWriteTokens: null,
  };
}

/** @param others the members of servers that have no details: DeepSeek and Moonshot */
function openAiUsage(input: unknown, output: unknown, inputDetails: unknown, others: JsonObject = {}): Usage {
  const details = objectOf(inputDetails);
  const cached = [details.cached_tokens, others.prompt_cache_hit_tokens, others.cached_tokens];
  return {
    inputTokens: tokensOf(input),
    outputTokens: tokensOf(output),
    cachedInputTokens: cached.map(tokensOf).find((count) => count !== null) ?? null,
    cacheWriteTokens: tokensOf(details.cache_write_tokens),
  };
}

/**
 * Returns usage in the format of a chat completion.
 *
 * @param reasoningTokens the reasoning tokens in the output, if known
 * @returns undefined if the usage is unknown, because zeros would look like a measurement
 */
export function chatUsage(usage: Usage, reasoningTokens: number | null): JsonObject | undefined {
  if (usage.inputTokens === null && usage.outputTokens === null) return undefined;
  const input = usage.inputTokens ?? 0;
  const output = usage.outputTokens ?? 0;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: usage.cachedInputTokens ?? 0,
      ...(usage.cacheWriteTokens === null ? {} : { cache_write_tokens: usage.cacheWriteTokens }),
    },
    ...(reasoningTokens === null ? {} : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  };
}

/** Returns usage in the format of a message, where `input_tokens` does not include cache tokens. */
export function messagesUsage(usage: Usage): JsonObject {
  const cached = usage.cachedInputTokens ?? 0;
  const written = usage.cacheWriteTokens ?? 0;
  return {
    input_tokens: Math.max(0, (usage.inputTokens ?? 0) - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: usage.outputTokens ?? 0,
  };
}
