import { costOf, costOfSpan, type PriceTable } from './model-price';

const price = (input: number, output: number) => ({
  input_usd_per_million: input,
  output_usd_per_million: output,
});
const PRICES: PriceTable = {
  'gpt-4o': price(2.5, 10),
  'gpt-4o-mini': price(0.15, 0.6),
  'gpt-4': price(30, 60),
  'claude-': price(3, 15),
  'meta/llama': price(1, 1),
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
    expect(costOf(model, 1e6, 1e6, PRICES)).toBe(dollars);
  });

  it('counts what is known of input and output', () => {
    expect(costOf('gpt-4o', 1000, 100, PRICES)).toBeCloseTo(0.0035, 10);
    expect(costOf('gpt-4o', 1e6, null, PRICES)).toBe(2.5);
    expect(costOf('gpt-4o', null, 1e6, PRICES)).toBe(10);
    expect(costOf('gpt-4o', 0, 0, PRICES)).toBe(0);
    expect(costOf('gpt-4o', null, null, PRICES)).toBeNull();
  });

  it('does not look for the beginnings of a name that is none', () => {
    expect(costOf(`gpt-4o-${'1'.repeat(249)}`, 1e6, 0, PRICES)).toBe(2.5);
    expect(costOf(`gpt-4o-${'1'.repeat(250)}`, 1e6, 0, PRICES)).toBeNull();
  });

  it('is what the span itself says, if it does', () => {
    const figures = { model: 'gpt-4o', inputTokens: 1e6, outputTokens: 0, costUsd: 0.5 };
    expect(costOfSpan(figures, PRICES)).toBe(0.5);
    expect(costOfSpan({ ...figures, costUsd: 0 }, PRICES)).toBe(0);
    expect(costOfSpan({ ...figures, costUsd: null }, PRICES)).toBe(2.5);
  });
});
