import { pairCases } from './paired-cases';
import { compareMeasures, type MeasureColumns, runMeasures } from './run-measures';

const of = (...values: number[]): Float64Array => Float64Array.from(values);

describe('runMeasures', () => {
  const measure = (
    caseKeys: string[],
    columns: { errors?: number[]; durations?: number[]; costs?: number[] },
    expectedCases = new Set(caseKeys).size,
    trials = 1,
  ) => {
    const unknown = caseKeys.map(() => NaN);
    const { errors = caseKeys.map(() => 0), durations = unknown, costs = unknown } = columns;
    const areExpected = new Uint8Array(caseKeys.length).fill(1);
    return runMeasures(
      pairCases(caseKeys, []).candidate,
      { areExpected, trials },
      {
        expectedCases,
        hasErrors: Uint8Array.from(errors),
        durations: of(...durations),
        costs: of(...costs),
      },
    );
  };

  it('averages the errors of trials before those of cases', () => {
    expect(measure(['a', 'a', 'a', 'b'], { errors: [1, 0, 0, 1] }).errorRate).toBeCloseTo(2 / 3, 15);
    expect(measure([], {}).errorRate).toBeNull();
  });

  it('counts a case without a result as an error', () => {
    expect(measure(['a', 'b'], {}, 8)).toMatchObject({ errorRate: 0.75, missingCases: 6 });
  });

  it('counts a missing trial as an error, and does not know its duration', () => {
    const trials = measure(['a', 'b', 'b'], { durations: [1, 2, 3] }, 2, 2);
    expect(trials).toMatchObject({ errorRate: 0.25, p95Duration: null, unknownDurations: 1 });
  });

  it('interpolates the 95th percentile, and does not know it if one trial has no duration', () => {
    const keys = Array.from({ length: 21 }, (_, i) => `case ${i}`);
    expect(measure(keys, { durations: keys.map((_, i) => 10 * i) }).p95Duration).toBe(190);
    const trials = measure(['a', 'a', 'b'], { durations: [10, NaN, 30] });
    expect(trials).toMatchObject({ p95Duration: null, unknownDurations: 1 });
    expect(measure(['a'], { durations: [10] }, 2)).toMatchObject({ p95Duration: null, unknownDurations: 1 });
  });

  it('does not know the mean cost if the cost of one case is unknown', () => {
    expect(measure(['a', 'a', 'b'], { costs: [1, 2, 0] })).toMatchObject({ meanCost: 0.75, unknownCosts: 0 });
    expect(measure(['a', 'b'], { costs: [0, NaN] })).toMatchObject({ meanCost: null, unknownCosts: 1 });
  });
});

describe('compareMeasures', () => {
  it('compares only cases that have not changed and are known on both sides', () => {
    const cases = pairCases(['a', 'b', 'c', 'd'], ['a', 'b', 'c', 'e'], ['c']);
    const columns = (duration_ms: Float64Array): MeasureColumns => {
      const unknown = new Float64Array(4).fill(NaN);
      return { duration_ms, input_tokens: unknown, output_tokens: unknown, cost_usd: unknown };
    };
    const input = {
      pair: ['exp_a', 'exp_b'] as const,
      cases,
      candidate: columns(of(100, NaN, 5, 7)),
      baseline: columns(of(80, 90, 900, 9)),
    };
    const { duration_ms, cost_usd } = compareMeasures({ ...input, isComparable: true });
    expect(duration_ms).toEqual({
      candidate: { mean: 112 / 3, count: 3 },
      baseline: { mean: 1079 / 4, count: 4 },
      difference: 20,
      interval: null,
      cases: 1,
    });
    expect(cost_usd).toMatchObject({ candidate: { mean: null, count: 0 }, difference: null, cases: 0 });
    const without = compareMeasures({ ...input, isComparable: false });
    expect(without.duration_ms).toMatchObject({ difference: null, cases: 0, candidate: { count: 3 } });
  });
});
