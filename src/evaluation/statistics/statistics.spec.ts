import fc from 'fast-check';
import { bootstrapInterval, type Interval } from './bootstrap';
import {
  type Cell,
  cohensKappaOf,
  intervalAlphaOf,
  nominalAlphaOf,
  quadraticKappaOf,
} from './agreement-coefficients';
import { signFlipTest } from './permutation';
import { seedOf } from './random';
import { meanAbsoluteErrorOf, meanOf, totalsStatistic } from './resampled-statistic';

const SEED = seedOf('a test');
const times = (count: number, value: number): number[] => new Array<number>(count).fill(value);
const of = (values: number[]): Float64Array => Float64Array.from(values);
const near = ({ lower, upper }: Interval, [low, high]: [number, number], within: number): void => {
  expect(Math.abs(lower - low)).toBeLessThanOrEqual(within);
  expect(Math.abs(upper - high)).toBeLessThanOrEqual(within);
};

/** Differences of the heights of 15 pairs of plants, in eighths of an inch (C. Darwin 1876, in R. A. Fisher 1935, §17). */
const DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48];
/** Extra hours of sleep under one of two drugs (Student 1908). */
const SLEEP = [1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4];
/** Test A of the spatial data of Efron and Tibshirani 1993, table 14.1. */
const SPATIAL = [
  48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41,
];

describe('bootstrapInterval', () => {
  // the ends are from scipy.stats.bootstrap 1.17.1 (method BCa) with 400,000 resamples
  it.each<[string, number[], [number, number], number]>([
    ['the sleep of ten patients', SLEEP, [1.05, 2.63], 0.03],
    ['the plants of Darwin', DARWIN, [-1.5333, 36.3667], 0.7],
    ['47 passes and 3 failures', [...times(47, 1), ...times(3, 0)], [0.84, 0.98], 0.001],
    ['17 full scores and three others', [...times(17, 1), 0.9, 0.5, 0], [0.725, 0.99], 0.006],
  ])('matches scipy for the mean of %s', (_, values, ends, within) => {
    near(bootstrapInterval(meanOf(of(values)), SEED)!, ends, within);
  });

  it('matches scipy for a variance on the spatial data', () => {
    const values = of(SPATIAL);
    const variance = totalsStatistic(
      [values, values.map((value) => value * value)],
      ([sum, squares], units) => squares! / units - (sum! / units) ** 2,
    );
    expect(variance.estimate).toBeCloseTo(171.534, 3); // the book has 171.5
    near(bootstrapInterval(variance, SEED)!, [105.94, 279.61], 4);
  });

  it('matches the enumeration of all 27 samples of three units', () => {
    // The mean of a sample of 0, 0, 1 is 0 in 8 samples, 1/3 in 12, 2/3 in 6 and 1 in 1. If ties count half, 14 of 27 are
    // below 1/3, so the bias is 0.0464; the acceleration is 1 / (6 sqrt 6) = 0.0680. The ends are then the 5.0% and the
    // 99.1% quantile. 29.6% of the means are 0, and 3.7% are 1.
    near(bootstrapInterval(meanOf(of([0, 0, 1])), SEED)!, [0, 1], 1e-12);
  });

  it('covers the mean of a known population at about the confidence level', () => {
    let covered = 0;
    for (let i = 0; i < 100; i++) {
      // 60 cases; a fixed pseudorandom formula fails one in five
      const sample = Array.from({ length: 60 }, (_, j) => ((i * 61 + j * 37 + i * j * 13) % 101) % 5 !== 0);
      const { lower, upper } = bootstrapInterval(meanOf(of(sample.map(Number))), seedOf(`${i}`))!;
      if (lower <= 80 / 101 && upper >= 80 / 101) covered++;
    }
    expect(covered / 100).toBeGreaterThan(0.88);
  });

  it('returns null without enough data, and a point without variation', () => {
    expect(bootstrapInterval(meanOf(of([])), SEED)).toBeNull();
    expect(bootstrapInterval(meanOf(of([0.7])), SEED)).toBeNull();
    near(bootstrapInterval(meanOf(of(times(40, 0.7))), SEED)!, [0.7, 0.7], 1e-12);
  });
});

describe('signFlipTest', () => {
  it("reproduces Fisher's result for Darwin's plants: 1,726 of 32,768", () => {
    expect(signFlipTest(of(DARWIN), SEED)).toBe(1_726 / 32_768);
  });

  it.each<[number[], number]>([
    [[], 1],
    [[0, 0, 0], 1],
    [[5], 1],
    [[1, 1], 2 / 4],
    [[1, 2, 3], 2 / 8],
    [[-1, 2, 3], 4 / 8], // sums at least 4 away from 0: ±4 and ±6
    [[0.1, 0.2, -0.3], 1],
    [times(6, -0.25), 2 / 64],
    [[...times(9, 1), -1, 0, 0], 22 / 1024], // at most one of ten coins differs from the others
  ])('matches the value computed by hand for %j', (differences, p) => {
    expect(signFlipTest(of(differences), SEED)).toBeCloseTo(p, 14);
  });

  it('equals the sign test for differences of one size', () => {
    // at most 12 of 40 coins show one of the two sides
    const coins = 2 * [...Array(13).keys()].reduce((sum, k) => sum + choose(40, k) / 2 ** 40, 0);
    const of40 = [...times(12, -0.25), ...times(28, 0.25)];
    expect(signFlipTest(of(of40), SEED)).toBeCloseTo(coins, 12);
    expect(signFlipTest(of(of40.map((one) => -one)), SEED)).toBeCloseTo(coins, 12);
    expect(signFlipTest(of([...times(20, 1), ...times(20, -1)]), SEED)).toBe(1);
    // binom.test(208, 377) of R
    expect(signFlipTest(of([...times(208, 1), ...times(169, -1), 0, 0]), SEED)).toBeCloseTo(0.0501, 3);
  });

  it('approximates the exact p-value for many differences', () => {
    // the same 2,000 coins, drawn together and one by one
    const many = [...times(953, -1), ...times(1_046, 1), 1 + 1e-13];
    const together = signFlipTest(of(many), SEED);
    const singly = signFlipTest(of(many.map((one, i) => one * (1 + i * 1e-13))), SEED);
    const exact = 0.0377; // 2 P(X >= 1047), where X is the number of heads among 2,000 coins
    expect(Math.abs(together - exact)).toBeLessThan(0.006);
    expect(Math.abs(singly - exact)).toBeLessThan(0.006);
  });

  it('is never 0', () => {
    expect(signFlipTest(of(times(500, 1)), SEED)).toBe(1 / 10_000);
  });
});

describe('cohensKappaOf and quadraticKappaOf', () => {
  const table = (...rows: number[][]): Cell[] =>
    rows
      .flatMap((row, i) => row.map((count, j) => ({ row: i, column: j, count })))
      .filter((cell) => cell.count > 0);

  it.each<[number[][], number, number]>([
    [[[20, 5], [10, 15]], 0.4, 0.4],
    [[[45, 15], [25, 15]], 3 / 23, 3 / 23],
    [[[25, 35], [5, 35]], 7 / 27, 7 / 27],
    [[[11, 3, 1], [2, 7, 4], [0, 1, 9]], 274 / 483, 0.7321248741188319],
    [[[10, 0], [0, 10]], 1, 1],
    [[[0, 10], [10, 0]], -1, -1],
  ])('map the table %j to %d and %d', (counts, kappa, weighted) => {
    const cells = table(...counts);
    expect(cohensKappaOf(cells, counts.length).estimate).toBeCloseTo(kappa, 14);
    expect(quadraticKappaOf(cells, [...counts.keys()]).estimate).toBeCloseTo(weighted, 14);
  }); // oxfmt-ignore

  it('have no value if both raters always choose one category', () => {
    const kappa = cohensKappaOf(table([30]), 1);
    expect(kappa.estimate).toBeNaN();
    expect(bootstrapInterval(kappa, SEED)).toBeNull();
  });

  it('match the interval of scipy', () => {
    const interval = bootstrapInterval(cohensKappaOf(table([20, 5], [10, 15]), 2), SEED);
    near(interval!, [0.1334, 0.6377], 0.015);
  });
});

describe('nominalAlphaOf and intervalAlphaOf', () => {
  // the four observers of Krippendorff 2011, part D; 0 is a missing value
  const observers = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
    [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
  ];
  const units = observers[0]!.map((_, unit) => observers.map((own) => own[unit]!).filter((one) => one > 0));
  const pairs = (a: string, b: string): string[][] => [...a].map((one, i) => [one, b[i]!]);

  it("return 0.743 (nominal) and 0.849 (interval) for Krippendorff's four observers", () => {
    expect(nominalAlphaOf(units).estimate).toBeCloseTo(0.743421052631579, 12);
    expect(intervalAlphaOf(units).estimate).toBeCloseTo(0.8491071428571428, 12);
  });

  it("return 0.095 and 0.692 for Krippendorff's pairs of observers", () => {
    expect(nominalAlphaOf(pairs('0100000010', '1110010000')).estimate).toBeCloseTo(0.095238, 6);
    expect(nominalAlphaOf(pairs('aabbdccceddA'.toLowerCase(), 'babbbccceddd')).estimate).toBeCloseTo(
      0.691964,
      6,
    );
  });

  it('agree on values of 0 and 1', () => {
    const binary = pairs('0100000010', '1110010000').map((unit) => unit.map(Number));
    expect(intervalAlphaOf(binary).estimate).toBeCloseTo(nominalAlphaOf(binary).estimate, 12);
  });

  it('match the interval of scipy', () => {
    const a = [0.1, 0.4, 0.5, 0.9, 0.3, 0.7, 0.2, 0.8, 0.6, 0.55, 0.35, 0.95];
    const b = [0.2, 0.35, 0.6, 0.7, 0.3, 0.9, 0.1, 0.85, 0.4, 0.5, 0.45, 0.8];
    const alpha = intervalAlphaOf(a.map((one, i) => [one, b[i]!]));
    expect(alpha.estimate).toBeCloseTo(0.8836218375499332, 12);
    near(bootstrapInterval(alpha, SEED)!, [0.7687, 0.9456], 0.012);
    expect(meanAbsoluteErrorOf(of(a), of(b)).estimate).toBeCloseTo(1.3 / 12, 14);
  });

  it('have no value without variation or without pairs', () => {
    for (const values of [[], [[1], [2]], times(9, 0).map(() => [0.7, 0.7])]) {
      expect(nominalAlphaOf(values).estimate).toBeNaN();
      expect(intervalAlphaOf(values).estimate).toBeNaN();
    }
  });
});

describe('the statistics of any differences', () => {
  const score = fc.integer({ min: -20, max: 20 }).map((tenths) => tenths / 10);
  const differences = fc.array(score, { minLength: 2, maxLength: 80 });
  const runs = { numRuns: 60 };
  const interval = (values: number[]): Interval => bootstrapInterval(meanOf(of(values)), SEED)!;

  it('are the same for the same seed', () =>
    fc.assert(
      fc.property(differences, (values) => {
        expect(interval(values)).toEqual(interval(values));
        expect(signFlipTest(of(values), SEED)).toBe(signFlipTest(of(values), SEED));
      }),
      runs,
    ));

  it('are mirrored if the sides are swapped', () =>
    fc.assert(
      fc.property(differences, (values) => {
        const there = interval(values);
        const back = interval(values.map((value) => -value));
        near(back, [-there.upper, -there.lower], 1e-9);
        expect(signFlipTest(of(values.map((value) => -value)), SEED)).toBe(signFlipTest(of(values), SEED));
      }),
      runs,
    ));

  it('have an interval within the range of symmetric differences that contains their mean', () =>
    fc.assert(
      fc.property(differences, (values) => {
        const alike = [...values, ...values.map((value) => -value)];
        const { lower, upper } = interval(alike);
        expect(lower).toBeLessThanOrEqual(1e-9);
        expect(upper).toBeGreaterThanOrEqual(-1e-9);
        expect(lower).toBeGreaterThanOrEqual(Math.min(...alike) - 1e-9);
        expect(upper).toBeLessThanOrEqual(Math.max(...alike) + 1e-9);
        expect(signFlipTest(of(alike), SEED)).toBe(1);
      }),
      runs,
    ));

  it('have an interval that is shifted and scaled with the differences', () =>
    fc.assert(
      fc.property(differences, (values) => {
        const { lower, upper } = interval(values);
        near(interval(values.map((value) => 3 * value + 7)), [3 * lower + 7, 3 * upper + 7], 1e-9);
      }),
      runs,
    ));
});

function choose(n: number, k: number): number {
  return k === 0 ? 1 : (choose(n, k - 1) * (n - k + 1)) / k;
}
