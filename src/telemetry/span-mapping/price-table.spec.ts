import { readEnvironment } from '#platform/config';
import { ModelPrices } from './model-prices';

const read = (text: string) => new ModelPrices(readEnvironment({ MODEL_PRICES: text })).table;

describe('MODEL_PRICES', () => {
  it('gives the price of each model', () => {
    const prices = { 'gpt-4o': { input_usd_per_million: 2.5, output_usd_per_million: 0 } };
    expect(read(JSON.stringify(prices))).toEqual(prices);
    expect(new ModelPrices(readEnvironment({})).table).toEqual({});
  });

  it('may tell what tokens of the cache cost', () => {
    const price = { input_usd_per_million: 3, output_usd_per_million: 15 };
    const prices = {
      a: { ...price, cached_input_usd_per_million: 0.3 },
      b: { ...price, cached_input_usd_per_million: 0, cache_write_usd_per_million: 3.75 },
    };
    expect(read(JSON.stringify(prices))).toEqual(prices);
  });

  it.each([
    ['no JSON', 'gpt-4o=2.5'],
    ['no object', '[]'],
    ['a price that is no object', '{"gpt-4o": 2.5}'],
    ['a member missing', '{"gpt-4o": {"input_usd_per_million": 2.5}}'],
    ['a member misspelt', '{"gpt-4o": {"input_usd_per_million": 1, "output_usd_per_milion": 1}}'],
    [
      'a member too many',
      '{"gpt-4o": {"input_usd_per_million": 1, "output_usd_per_million": 1, "cached": 1}}',
    ],
    ['a negative price', '{"gpt-4o": {"input_usd_per_million": -1, "output_usd_per_million": 1}}'],
    [
      'a negative price of the cache',
      '{"a": {"input_usd_per_million": 1, "output_usd_per_million": 1, "cached_input_usd_per_million": -1}}',
    ],
    [
      'null for the price of the cache',
      '{"a": {"input_usd_per_million": 1, "output_usd_per_million": 1, "cache_write_usd_per_million": null}}',
    ],
    ['a price as text', '{"gpt-4o": {"input_usd_per_million": "1", "output_usd_per_million": 1}}'],
  ])('stops the start, and is named, when it holds %s', (_, text) => {
    expect(() => read(text)).toThrow('MODEL_PRICES');
  });
});
