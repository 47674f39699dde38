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
    // different models with different prices
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
  ])('of a million tokens each of the model %j is %j dollars', (model, dollars) => {
    expect(costOf(model, tokens(1e6, 1e6), PRICES)).toBe(dollars);
  });

  it('includes input or output alone if only one is known', () => {
    expect(costOf('gpt-4o', tokens(1000, 100), PRICES)).toBeCloseTo(0.0035, 10);
    expect(costOf('gpt-4o', tokens(1e6, null), PRICES)).toBe(2.5);
    expect(costOf('gpt-4o', tokens(null, 1e6), PRICES)).toBe(10);
    expect(costOf('gpt-4o', tokens(0, 0), PRICES)).toBe(0);
    expect(costOf('gpt-4o', tokens(null, null), PRICES)).toBeNull();
  });

  it.each([
    ['cached tokens at their price', 'cached', { cachedInputTokens: 4e5 }, 26.4],
    ['tokens written to the cache at their price', 'cached', { cacheWriteTokens: 4e5 }, 31],
    ['both', 'cached', { cachedInputTokens: 4e5, cacheWriteTokens: 6e5 }, 27.9],
    ['no cache tokens', 'cached', { cachedInputTokens: null, cacheWriteTokens: 0 }, 30],
    ['cached tokens as input if they have no price', 'gpt-4o', { cachedInputTokens: 4e5 }, 12.5],
    [
      'more cached tokens than input tokens in addition to the input',
      'cached',
      { cachedInputTokens: 9e6 },
      39,
    ],
    [
      'more cached and written tokens than input tokens in addition to the input',
      'cached',
      { cachedInputTokens: 6e5, cacheWriteTokens: 6e5 },
      38.1,
    ],
  ])('counts %s', (_, model, cache, dollars) => {
    expect(costOf(model, { ...tokens(1e6, 1e6), ...cache }, PRICES)).toBeCloseTo(dollars, 10);
  });

  it('ignores texts that are too long to be a model name', () => {
    expect(costOf(`gpt-4o-${'1'.repeat(249)}`, tokens(1e6, 0), PRICES)).toBe(2.5);
    expect(costOf(`gpt-4o-${'1'.repeat(250)}`, tokens(1e6, 0), PRICES)).toBeNull();
  });

  it('is the cost that the span reports, if any', () => {
    const figures = { model: 'gpt-4o', inputTokens: 1e6, outputTokens: 0, costUsd: 0.5 };
    expect(costOfSpan(figures, PRICES)).toBe(0.5);
    expect(costOfSpan({ ...figures, costUsd: 0 }, PRICES)).toBe(0);
    expect(costOfSpan({ ...figures, costUsd: null }, PRICES)).toBe(2.5);
  });
});
