import { costOf, costOfSpan, type PriceTable } from './model-prices';

const price = (input: number, output: number) => ({
  input_usd_per_million: input,
  output_usd_per_million: output,
});
const tokens = (inputTokens: number | null, outputTokens: number | null) => ({ inputTokens, outputTokens });
const PRICES: PriceTable = {
  'gpt-4o': price(2.5, 10),
  'gpt-4o-mini': price(0.15, 0.6),
  'gpt-4': price(30, 60),
  'claude-': price(3, 15),
  'meta/llama': price(1, 1),
  cached: { ...price(10, 20), cached_input_usd_per_million: 1, cache_write_usd_per_million: 12.5 },
};

describe('the cost of tokens', () => {
  it.each([
    ['gpt-4o', 12.5],
    ['gpt-4o-2024-08-06', 12.5],
    ['gpt-4o-mini', 0.75],
    ['gpt-4o-mini-2024-07-18', 0.75],
    ['gpt-4-0613', 90],
    ['gpt-4:latest', 90],
    ['gpt-4@2024-08-06', 90],
    ['gpt-4-20240620-v1:0', 90],
    ['gpt-4_v1.5', 90],
    // models of their own, at prices of their own
    ['gpt-4-turbo', null],
    ['gpt-4-32k', null],
    ['gpt-4o-audio-preview', null],
    ['gpt-4-turbo-2024-04-09', null],
    ['gpt-4.1', null],
    ['gpt-4omni', null],
    ['gpt', null],
    ['claude-3-opus', 18],
    ['claude', null],
    ['openai/gpt-4o-mini', 0.75],
    ['meta/llama', 2],
    ['', null],
    ['__proto__', null],
    ['constructor', null],
    [null, null],
  ])('of the model %j is %j dollars for a million each', (model, dollars) => {
    expect(costOf(model, tokens(1e6, 1e6), PRICES)).toBe(dollars);
  });

  it('counts what is known of input and output', () => {
    expect(costOf('gpt-4o', tokens(1000, 100), PRICES)).toBeCloseTo(0.0035, 10);
    expect(costOf('gpt-4o', tokens(1e6, null), PRICES)).toBe(2.5);
    expect(costOf('gpt-4o', tokens(null, 1e6), PRICES)).toBe(10);
    expect(costOf('gpt-4o', tokens(0, 0), PRICES)).toBe(0);
    expect(costOf('gpt-4o', tokens(null, null), PRICES)).toBeNull();
  });

  it.each([
    ['cached ones at their price', 'cached', { cachedInputTokens: 4e5 }, 26.4],
    ['those written to the cache at theirs', 'cached', { cacheWriteTokens: 4e5 }, 31],
    ['both', 'cached', { cachedInputTokens: 4e5, cacheWriteTokens: 6e5 }, 27.9],
    ['none of the cache', 'cached', { cachedInputTokens: null, cacheWriteTokens: 0 }, 30],
    ['all as input, where the cache has no price', 'gpt-4o', { cachedInputTokens: 4e5 }, 12.5],
    ['more of the cache than of the input on top of it', 'cached', { cachedInputTokens: 9e6 }, 39],
    ['also with those written', 'cached', { cachedInputTokens: 6e5, cacheWriteTokens: 6e5 }, 38.1],
  ])('takes of a million tokens of the input %s', (_, model, cache, dollars) => {
    expect(costOf(model, { ...tokens(1e6, 1e6), ...cache }, PRICES)).toBeCloseTo(dollars, 10);
  });

  it('does not look for the beginnings of a name that is none', () => {
    expect(costOf(`gpt-4o-${'1'.repeat(249)}`, tokens(1e6, 0), PRICES)).toBe(2.5);
    expect(costOf(`gpt-4o-${'1'.repeat(250)}`, tokens(1e6, 0), PRICES)).toBeNull();
  });

  it('is what the span itself says, if it does', () => {
    const figures = { model: 'gpt-4o', inputTokens: 1e6, outputTokens: 0, costUsd: 0.5 };
    expect(costOfSpan(figures, PRICES)).toBe(0.5);
    expect(costOfSpan({ ...figures, costUsd: 0 }, PRICES)).toBe(0);
    expect(costOfSpan({ ...figures, costUsd: null }, PRICES)).toBe(2.5);
  });
});
