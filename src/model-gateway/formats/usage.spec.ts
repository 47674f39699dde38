import {
  chatUsage,
  messagesUsage,
  usageOfChat,
  usageOfEmbeddings,
  usageOfMessages,
  usageOfResponses,
} from './usage';

const UNKNOWN = { inputTokens: null, outputTokens: null, cachedInputTokens: null, cacheWriteTokens: null };
const READERS = [usageOfChat, usageOfResponses, usageOfMessages, usageOfEmbeddings];

describe('usage', () => {
  it('includes the cache tokens of a chat completion', () => {
    expect(
      usageOfChat({
        usage: {
          prompt_tokens: 2006,
          completion_tokens: 300,
          total_tokens: 2306,
          prompt_tokens_details: { cached_tokens: 1920, cache_write_tokens: 10 },
        },
      }),
    ).toEqual({ inputTokens: 2006, outputTokens: 300, cachedInputTokens: 1920, cacheWriteTokens: 10 });
  });

  it.each([
    ['DeepSeek', { prompt_cache_hit_tokens: 6, prompt_cache_miss_tokens: 4 }],
    [
      'DeepSeek, with both members',
      { prompt_cache_hit_tokens: 6, prompt_tokens_details: { cached_tokens: 6 } },
    ],
    ['Moonshot', { cached_tokens: 6 }],
  ])('includes the cache tokens of a chat completion of %s', (_, cached) => {
    const usage = usageOfChat({ usage: { prompt_tokens: 10, completion_tokens: 5, ...cached } });
    expect(usage).toEqual({ inputTokens: 10, outputTokens: 5, cachedInputTokens: 6, cacheWriteTokens: null });
    expect(messagesUsage(usage)).toMatchObject({ input_tokens: 4, cache_read_input_tokens: 6 });
  });

  it('includes the cache tokens of a Response', () => {
    expect(
      usageOfResponses({
        usage: { input_tokens: 75, output_tokens: 1186, input_tokens_details: { cached_tokens: 64 } },
      }),
    ).toEqual({ inputTokens: 75, outputTokens: 1186, cachedInputTokens: 64, cacheWriteTokens: null });
  });

  it('is the sum of the tokens that Anthropic counts separately for a message', () => {
    expect(
      usageOfMessages({
        usage: {
          input_tokens: 50,
          cache_read_input_tokens: 100_000,
          cache_creation_input_tokens: 248,
          output_tokens: 503,
        },
      }),
    ).toEqual({ inputTokens: 100_298, outputTokens: 503, cachedInputTokens: 100_000, cacheWriteTokens: 248 });
    expect(usageOfMessages({ usage: { input_tokens: 7, output_tokens: 0 } })).toEqual({
      ...UNKNOWN,
      inputTokens: 7,
      outputTokens: 0,
    });
  });

  it('has no output tokens for embeddings', () => {
    expect(usageOfEmbeddings({ usage: { prompt_tokens: 8, total_tokens: 8 } })).toEqual({
      ...UNKNOWN,
      inputTokens: 8,
      outputTokens: 0,
    });
  });

  it('is unknown if the provider sends no valid count', () => {
    const answers = [undefined, null, 1, 'x', [], {}, { usage: null }, { usage: [1] }, { usage: 'x' }];
    for (const usageOf of READERS) {
      for (const answer of answers) expect(usageOf(answer)).toEqual(UNKNOWN);
      for (const bad of [-1, '5', NaN, Infinity, 1.5, null, {}, true, 2 ** 53]) {
        const usage = {
          prompt_tokens: bad,
          completion_tokens: bad,
          input_tokens: bad,
          output_tokens: bad,
          cache_read_input_tokens: bad,
          prompt_tokens_details: { cached_tokens: bad },
          input_tokens_details: bad,
        };
        expect(usageOf({ usage })).toEqual(UNKNOWN);
      }
    }
  });

  it('is written without zeros for unknown counts', () => {
    expect(chatUsage(UNKNOWN, null)).toBeUndefined();
    expect(chatUsage({ ...UNKNOWN, inputTokens: 5, outputTokens: 2, cachedInputTokens: 3 }, 1)).toEqual({
      prompt_tokens: 5,
      completion_tokens: 2,
      total_tokens: 7,
      prompt_tokens_details: { cached_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 1 },
    });
  });

  it('is the same after a conversion and back', () => {
    const usage = { inputTokens: 100, outputTokens: 4, cachedInputTokens: 60, cacheWriteTokens: 15 };
    expect(messagesUsage(usage)).toEqual({
      input_tokens: 25,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 15,
      output_tokens: 4,
    });
    expect(usageOfMessages({ usage: messagesUsage(usage) })).toEqual(usage);
    expect(usageOfChat({ usage: chatUsage(usage, null) })).toEqual(usage);
  });
});
