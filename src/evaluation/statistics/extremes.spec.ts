import { cohensKappaOf, intervalAlphaOf, nominalAlphaOf } from './agreement-coefficients';
import { bootstrapInterval } from './bootstrap';
import { permutationsOf, signFlipTest } from './permutation';
import { seedOf } from './random';
import { meanOf, countsStatistic, type ResampledStatistic } from './resampled-statistic';

const SEED = seedOf('a test');
const of = (...values: number[]): Float64Array => Float64Array.from(values);

describe('signFlipTest', () => {
  it('distinguishes sums that differ by more than rounding', () => {
    // the sums are ±(1 + 1e-13) and ±(1 - 1e-13); only the observed sum and its opposite are as far from 0
    expect(signFlipTest(of(1, 1e-13), SEED)).toBe(2 / 4);
    // of the four sums of each sign, two equal 1e9 and one is 1e9 + 2e-3
    expect(signFlipTest(of(1e9, -1e-3, 1e-3), SEED)).toBe(6 / 8);
  });

  it('treats sums that differ only by rounding as equal', () => {
    // 0.1 + 0.2 - 0.3 is not 0 in doubles
    expect(signFlipTest(of(0.1, 0.2, -0.3), SEED)).toBe(1);
    const tenths = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? 0.1 : 0.7));
    const exact = signFlipTest(of(...tenths.map((one) => Math.round(10 * one))), SEED);
    expect(signFlipTest(of(...tenths), SEED)).toBe(exact);
  });

  it.each([1, 6, 20, 600])('rescales %d differences whose sums overflow', (count) => {
    const differences = Array.from({ length: count }, (_, i) => (((i * 7_919) % 1_009) - 400) / 1_009);
    const huge = differences.map((one) => one * 1.7e308);
    expect(signFlipTest(of(...huge), SEED)).toBeCloseTo(signFlipTest(of(...differences), SEED), 6);
  }); // oxfmt-ignore
});

describe('bootstrapInterval', () => {
  it('returns null if an end is not finite', () => {
    const without = (quantile: (p: number) => number): ResampledStatistic => ({
      ...meanOf(of(1, 2, 3)),
      units: 3,
      estimate: 2,
      isConstant: false,
      distribution: () => ({ shareBelow: 0.5, acceleration: 0, quantile }),
    });
    const half = without((p) => (p < 0.5 ? 1 : 3));
    expect(bootstrapInterval(half, SEED)).toEqual({ lower: 1, upper: 3 });
    for (const nothing of [Infinity, -Infinity, NaN]) {
      expect(bootstrapInterval(without((p) => (p < 0.5 ? 1 : nothing)), SEED)).toBeNull(); // oxfmt-ignore
    }
    // many sums of resamples overflow
    expect(bootstrapInterval(meanOf(of(1.7e308, -1.7e308, 0)), SEED)).not.toEqual(
      expect.objectContaining({ lower: -Infinity }),
    );
  });

  it('draws fewer resamples for costly statistics, but at least 999', () => {
    const drawsOf = (steps: number): number => {
      let draws = 0;
      const statistic = {
        steps,
        of: (counts: Float64Array) => {
          draws++;
          return counts[0]!;
        },
        leaveOut: (group: number) => (group === 0 ? 9 : 10),
      };
      const resampled = countsStatistic(of(10, 10), statistic);
      draws = 0;
      bootstrapInterval(resampled, SEED);
      return draws;
    };
    expect(drawsOf(2)).toBe(9_999);
    expect(drawsOf(900)).toBeLessThan(3_000);
    expect(drawsOf(1_000_000)).toBe(999);
  });
});

describe('permutationsOf', () => {
  it('shares the permutations of ten tests among more tests, with at least 999 each', () => {
    expect([1, 10, 20, 50, 100, 1_000].map(permutationsOf)).toEqual([9_999, 9_999, 4_999, 1_999, 999, 999]);
    const alike = new Float64Array(500).fill(1);
    alike[0] = 2; // with a single size, it would be the sign test
    expect(signFlipTest(alike, SEED, 999)).toBe(1 / 1_000);
  });
});

describe('leaveOneOut', () => {
  const pairs = Array.from({ length: 60 }, (_, i): [number, number] => [(i * 7) % 4, (i * 5 + (i % 3)) % 4]);

  it.each<[string, (units: [number, number][]) => ResampledStatistic]>([
    [
      'kappa',
      (units) => cohensKappaOf(units.map(([row, column]) => ({ row, column, count: 1 })), 4), // oxfmt-ignore
    ],
    ['nominal alpha', nominalAlphaOf],
    ['interval alpha', intervalAlphaOf],
  ])('matches the estimate without each unit: %s', (_, measure) => {
    const statistic = measure(pairs);
    const actual = [...statistic.leaveOneOut()].flatMap(({ value, units }) =>
      new Array<number>(units).fill(value),
    );
    const expected = pairs.map((_unit, left) => measure(pairs.filter((_other, i) => i !== left)).estimate);
    const ascending = (values: number[]): number[] => [...values].sort((a, b) => a - b);
    expect(actual).toHaveLength(expected.length);
    ascending(actual).forEach((value, i) => expect(value).toBeCloseTo(ascending(expected)[i]!, 12));
  });
});
