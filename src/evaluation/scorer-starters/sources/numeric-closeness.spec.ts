import { NUMERIC_CLOSENESS } from './numeric-closeness.source';
import { SourceRunner } from './run-source.fixture';

describe('numeric closeness', () => {
  const runner = new SourceRunner(NUMERIC_CLOSENESS);
  afterAll(() => runner.close());

  it.each<[unknown, unknown, number]>([
    [9.9, 10, 0.99],
    [10, 9.9, 0.99],
    ['  -2.5e3 ', -2500, 1],
    ['+.5', '0.50', 1],
    ['1,234,567.5', 1234567.5, 1],
    [0, 0, 1],
    [0, 5, 0],
    [-10, 10, 0],
    [1.7e308, -1.7e308, 0],
    [5e-324, 5e-324, 1],
    ['1,23', 123, 0],
    ['12 apples', 12, 0],
    ['', 0, 0],
    [null, 1, 0],
    [true, 1, 0],
    [[1], 1, 0],
    ['1e999', 1, 0],
    ['Infinity', 1, 0],
    ['0x10', 16, 0],
  ])('scores %j, with %j expected, as %d', async (output, expected, score) => {
    expect(await runner.score({ output, expected })).toBeCloseTo(score, 12);
  });

  it.each([null, 'ten', {}, false, '1 000'])('is an error if %j is expected', async (expected) => {
    expect(await runner.score({ output: 1, expected })).toContain('expected is not a number');
  });
});
