import { readEnvironment } from '#platform/config';
import { ModelPrices } from './model-prices';

const read = (text: string) => new ModelPrices(readEnvironment({ MODEL_PRICES: text })).table;

describe('MODEL_PRICES', () => {
  it('contains the price of each model', () => {
    const prices = { 'gpt-4o': { input_usd_per_million: 2.5, output_usd_per_million: 0 } };
    expect(read(JSON.stringify(prices))).toEqual(prices);
    expect(new ModelPrices(readEnvironment({})).table).toEqual({});
  });

  it('may contain prices of cache tokens', () => {
    const price = { input_usd_per_million: 3, output_usd_per_million: 15 };
    const prices = {
      a: { ...price, cached_input_usd_per_million: 0.3 },
      b: { ...price, cached_input_usd_per_million: 0, cache_write_usd_per_million: 3.75 },
    };
    expect(read(JSON.stringify(prices))).toEqual(prices);
  });

  it.each([
    ['something other than JSON', 'gpt-4o=2.5'],
    ['something other than an object', '[]'],
    ['a price that is not an object', '{"gpt-4o": 2.5}'],
    ['a price without a required member', '{"gpt-4o": {"input_usd_per_million": 2.5}}'],
    ['a misspelt member', '{"gpt-4o": {"input_usd_per_million": 1, "output_usd_per_milion": 1}}'],
    [
      'an unknown member',
      '{"gpt-4o": {"input_usd_per_million": 1, "output_usd_per_million": 1, "cached": 1}}',
    ],
    ['a negative price', '{"gpt-4o": {"input_usd_per_million": -1, "output_usd_per_million": 1}}'],
    [
      'a negative cache price',
      '{"a": {"input_usd_per_million": 1, "output_usd_per_million": 1, "cached_input_usd_per_million": -1}}',
    ],
    [
      'null as a cache price',
      '{"a": {"input_usd_per_million": 1, "output_usd_per_million": 1, "cache_write_usd_per_million": null}}',
    ],
    ['a price as text', '{"gpt-4o": {"input_usd_per_million": "1", "output_usd_per_million": 1}}'],
  ])('is rejected with an error that names the variable if it contains %s', (_, text) => {
    expect(() => read(text)).toThrow('MODEL_PRICES');
  });
});
