import { calcPrice } from '@pydantic/genai-prices';
import { readEnvironment } from '#platform/config';
import { costOf, ModelPrices, type PricedCall, type PriceTable } from './model-prices';

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

describe('the cost', () => {
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
  ])('is, for a million input and a million output tokens of %j, %j dollars', (model, dollars) => {
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
});

describe('the cost without an entry in MODEL_PRICES', () => {
  const on = new Date('2025-11-01T12:00:00Z');
  const prices = new ModelPrices(readEnvironment({}));
  const call = (
    model: string,
    provider: string | null = null,
    more: Partial<PricedCall> = {},
  ): PricedCall => ({
    model,
    provider,
    ...tokens(1e5, 1e5),
    ...more,
  });
  const library = (usage: Record<string, number>, model: string, providerId?: string): number =>
    calcPrice(usage, model, { ...(providerId && { providerId }), timestamp: on })!.total_price;
  const usage = { input_tokens: 1e5, output_tokens: 1e5 };

  it.each([
    ['gpt-4o', null, 'openai'],
    ['gpt-4o-2024-08-06', 'openai.chat', 'openai'],
    ['openai/gpt-4o', null, 'openai', 'gpt-4o'],
    ['openai/gpt-4o', 'openai', 'openai', 'gpt-4o'],
    ['openai/gpt-4o', 'openrouter', 'openrouter'],
    ['gpt-4o', 'Langchain', 'openai'],
    ['claude-sonnet-4-20250514', 'anthropic', 'anthropic'],
    ['us.anthropic.claude-sonnet-4-20250514-v1:0', 'aws.bedrock', 'aws'],
    ['gemini-2.5-pro', 'gcp.gemini', 'google'],
    ['mistral-large-latest', 'mistral_ai', 'mistral'],
  ])(
    'is the price in the library for the model %s of the provider %s',
    (model, provider, providerId, name = model) => {
      expect(prices.costOf(call(model, provider), on)).toBeCloseTo(library(usage, name, providerId), 12);
    },
  );

  it.each([
    ['own-model', null],
    ['gpt-test', 'openai'],
    ['gpt-4o', 'anthropic'],
    ['llama3.1', 'Ollama'],
    ['', ''],
    ['__proto__', 'constructor'],
  ])('is unknown for the model %s of the provider %s', (model, provider) => {
    expect(prices.costOf(call(model, provider), on)).toBeNull();
  });

  it('depends on the provider that the URL of the API implies', () => {
    const apiUrl = 'https://api.anthropic.com/v1';
    expect(prices.costOf({ model: 'gpt-4o', apiUrl, ...tokens(1, 1) }, on)).toBeNull();
    expect(
      prices.costOf({ model: 'gpt-4o', apiUrl: 'http://proxy/v1', ...tokens(1e5, 1e5) }, on),
    ).toBeCloseTo(library(usage, 'gpt-4o'), 12);
  });

  it('includes cached input, reasoning and long inputs at the prices in the library', () => {
    const cached = { cachedInputTokens: 4e4, cacheWriteTokens: 1e4 };
    const model = 'claude-sonnet-4-20250514';
    const parts = { ...usage, cache_read_tokens: 4e4, cache_write_tokens: 1e4 };
    expect(prices.costOf(call(model, null, cached), on)).toBeCloseTo(library(parts, model), 12);
    expect(library(parts, model)).not.toBe(library(usage, model));
    const long = { ...usage, input_tokens: 3e5 };
    expect(prices.costOf(call('gemini-2.5-pro', null, tokens(3e5, 1e5)), on)).toBeCloseTo(
      library(long, 'gemini-2.5-pro'),
      12,
    );
    const thinking = 'perplexity/sonar-deep-research';
    expect(prices.costOf(call(thinking, 'openrouter', { reasoningTokens: 5e4 }), on)).toBeCloseTo(
      library({ ...usage, output_reasoning_tokens: 5e4 }, thinking, 'openrouter'),
      12,
    );
    expect(library({ ...usage, output_reasoning_tokens: 5e4 }, thinking, 'openrouter')).not.toBeCloseTo(
      library(usage, thinking, 'openrouter'),
      12,
    );
  });

  it('tolerates parts that have more tokens than the total', () => {
    const cached = { ...tokens(1e4, 1e5), cachedInputTokens: 4e4 };
    expect(prices.costOf(call('gpt-4o', null, cached), on)).toBeCloseTo(
      library({ input_tokens: 5e4, output_tokens: 1e5, cache_read_tokens: 4e4 }, 'gpt-4o'),
      12,
    );
    expect(prices.costOf(call('gpt-4o', null, { reasoningTokens: 9e9 }), on)).toBeCloseTo(
      library(usage, 'gpt-4o'),
      12,
    );
    expect(
      prices.costOf(call('gpt-4o', null, { ...tokens(null, null), cachedInputTokens: 5 }), on),
    ).toBeNull();
  });

  it('uses the price that is valid at the time of the call', () => {
    const at = (day: string): number =>
      calcPrice(long, model, { providerId: 'anthropic', timestamp: new Date(day) })!.total_price;
    const [model, long] = ['claude-opus-4-6', { input_tokens: 3e5, output_tokens: 1e5 }];
    const costs = ['2026-03-12', '2026-03-13'].map((day) =>
      prices.costOf(call(model, 'anthropic', tokens(3e5, 1e5)), new Date(day)),
    );
    expect(costs).toEqual([at('2026-03-12'), at('2026-03-13')]);
    expect(costs[0]).not.toBe(costs[1]);
  });

  it('is computed without network requests', () => {
    const fetched = jest.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('no network'));
    prices.costOf(call('gpt-4.1', 'openai'), on);
    prices.costOf(call('never-heard-of', 'openai'), on);
    expect(fetched).not.toHaveBeenCalled();
  });

  it('is not used for a model that has an entry', () => {
    const own = new ModelPrices(readEnvironment({ MODEL_PRICES: JSON.stringify({ 'gpt-4o': price(1, 1) }) }));
    expect(own.costOf(call('gpt-4o-2024-08-06', 'openai'), on)).toBeCloseTo(0.2, 10);
    expect(own.costOf(call('gpt-4o-mini', 'openai'), on)).toBeCloseTo(library(usage, 'gpt-4o-mini'), 12);
  });
});
