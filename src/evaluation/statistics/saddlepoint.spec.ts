import { bootstrapInterval } from './bootstrap';
import { signFlipTest } from './permutation';
import { seedOf } from './random';
import { meanOf, totalsStatistic } from './resampled-statistic';
import { meanDistribution, signFlipTail } from './saddlepoint';
import { type Differences, expectLikeRandomSigns, signed } from './sign-flips.fixture';

const SEED = seedOf('a test');
const PROBABILITIES = [0.0005, 0.005, 0.025, 0.1, 0.5, 0.9, 0.975, 0.995, 0.9995];

/** Returns integers, each `times[n]` times: the nth is `first + n`. */
const repeated = (times: readonly number[], first = 0): Float64Array =>
  Float64Array.from(times.flatMap((count, n) => new Array<number>(count).fill(first + n)));

/** Returns the distribution of the sum of two independent integers, from their probabilities from 0 on. */
function convolved(a: Float64Array, b: Float64Array): Float64Array {
  const sum = new Float64Array(a.length + b.length - 1);
  for (let i = 0; i < a.length; i++) {
    const own = a[i]!;
    if (own === 0) continue;
    for (let j = 0; j < b.length; j++) sum[i + j]! += own * b[j]!;
  }
  return sum;
}

/** Returns P(sum < s) + P(sum = s) / 2 for each s: the middle of each step, which a smooth approximation goes through. */
function halfway(probabilities: Float64Array): Float64Array {
  let below = 0;
  return probabilities.map((probability) => {
    below += probability;
    return below - probability / 2;
  });
}

/** Returns values spread evenly from 0 to 1: the fractional parts of the multiples of the golden ratio. */
const spread = (count: number, step = 0.6180339887498949): Float64Array =>
  Float64Array.from({ length: count }, (_, i) => ((i + 1) * step) % 1);

describe('meanDistribution', () => {
  /** Returns the exact distribution of the sum of a bootstrap sample of integers. */
  function exactSums(values: Float64Array): Float64Array {
    let power = new Float64Array(Math.max(...values) + 1);
    for (const value of values) power[value]! += 1 / values.length;
    let sums = Float64Array.of(1);
    for (let left = values.length; left > 0; left >>= 1) {
      if (left & 1) sums = Float64Array.from(convolved(sums, power));
      if (left > 1) power = Float64Array.from(convolved(power, power));
    }
    return sums;
  }

  it.each<[string, number[]]>([
    ['equally frequent', new Array<number>(17).fill(40)],
    ['skewed', Array.from({ length: 28 }, (_, n) => Math.round(120 * 0.9 ** n))],
    ['mostly at one end', [...new Array<number>(16).fill(40), 400]],
  ])('matches the distribution of all samples of values %s', (_, times) => {
    const values = repeated(times);
    const distribution = meanDistribution(values)!;
    const exact = halfway(exactSums(values));
    for (const p of PROBABILITIES) {
      const sum = distribution.quantile(p) * values.length;
      const below = Math.floor(sum);
      const tail = exact[below]! + (sum - below) * (exact[below + 1]! - exact[below]!);
      expect(Math.abs(tail - p)).toBeLessThan(0.0005);
      // in the tails, where precision matters most, the relative error is also small
      expect(Math.abs(tail - p) / Math.min(p, 1 - p)).toBeLessThan(0.02);
    }
    const mean = values.reduce((sum, value) => sum + value, 0);
    expect(distribution.shareBelow).toBeCloseTo(exact[mean]!, 3);
  });

  it('approximates the acceleration and the interval of drawn resamples', () => {
    const values = spread(1_500).map((one) => one ** 3);
    const drawn = totalsStatistic([values], ([sum], units) => sum! / units);
    expect(drawn.distribution!()).toBeNull();
    const standardError = Math.sqrt(values.reduce((sum, one) => sum + (one - drawn.estimate) ** 2, 0)) / 1_500;
    const interval = bootstrapInterval(meanOf(values), SEED)!;
    const others = Array.from({ length: 30 }, (_, n) => bootstrapInterval(drawn, seedOf(`${n}`)));
    for (const end of ['lower', 'upper'] as const) {
      const mean = others.reduce((sum, one) => sum + one![end], 0) / others.length;
      expect(Math.abs(interval[end] - mean) / standardError).toBeLessThan(0.05);
    }
  }, 60_000); // oxfmt-ignore

  it('is mirrored if the values are, and does not depend on their scale', () => {
    const values = spread(800).map((one) => one ** 2);
    const distribution = meanDistribution(values)!;
    const mirrored = meanDistribution(values.map((one) => -one))!;
    const scaled = meanDistribution(values.map((one) => 1e300 * one))!;
    for (const p of PROBABILITIES) {
      expect(mirrored.quantile(1 - p)).toBeCloseTo(-distribution.quantile(p), 12);
      expect(scaled.quantile(p) / 1e300).toBeCloseTo(distribution.quantile(p), 12);
    }
    expect([mirrored.acceleration, scaled.acceleration]).toEqual([
      -distribution.acceleration,
      expect.closeTo(distribution.acceleration, 12),
    ]);
  });

  it('returns null if the values are few or alike, or if a few dominate', () => {
    expect(meanDistribution(spread(255))).toBeNull();
    expect(meanDistribution(repeated([500, 500]))).toBeNull();
    expect(meanDistribution(new Float64Array(1_000))).toBeNull();
    const outlier = spread(5_000);
    outlier[7] = 1_000;
    expect(meanDistribution(outlier)).toBeNull();
  });

  it.each([2, 3, 5])('returns null for values on %d levels that differ by a millionth', (levels) => {
    const noisy = spread(900).map((noise, i) => (i % levels) + 1e-6 * noise);
    expect(meanDistribution(noisy)).toBeNull();
  });

  it.each([[200, 3], [2_000, 40]])('returns an interval around the estimate for %d values on %d levels that hardly differ', (count, levels) => {
    const values = Float64Array.from({ length: count }, (_, i) => 1 + ((i * 7) % levels) * 1e-15);
    const mean = meanOf(values);
    const { lower, upper } = bootstrapInterval(mean, SEED)!;
    expect(lower).toBeLessThanOrEqual(mean.estimate);
    expect(upper).toBeGreaterThanOrEqual(mean.estimate);
  }); // oxfmt-ignore
});

describe('signFlipTail', () => {
  /** Returns the probability of each sum of integers with random signs, from the lowest sum, in steps of 1. */
  function exactSums(sizes: Float64Array): Float64Array {
    let sums = Float64Array.of(1);
    for (const size of sizes) {
      const flip = new Float64Array(2 * size + 1);
      flip[0] = flip[2 * size] = 0.5;
      sums = Float64Array.from(convolved(flip, sums));
    }
    return sums;
  }

  it.each<[string, number[]]>([
    ['equally frequent sizes', new Array<number>(20).fill(24)],
    ['mostly small sizes', Array.from({ length: 20 }, (_, n) => Math.round(150 * 0.9 ** n))],
  ])('matches the enumeration of all signs of %s', (_, times) => {
    const sizes = repeated(times, 1);
    const exact = exactSums(sizes);
    const most = (exact.length - 1) / 2;
    const deviation = Math.sqrt(sizes.reduce((sum, size) => sum + size * size, 0));
    for (const z of [0, 0.001, 0.3, 1, 1.64, 1.96, 2.58, 3.3]) {
      const sum = 2 * Math.round((z * deviation - (most % 2)) / 2) + (most % 2);
      const tail = exact.subarray(most + sum).reduce((p, one) => p + one, 0);
      const actual = signFlipTail(sizes, sum, 1e-6)!;
      // the approximation includes only half of the step at the sum itself
      expect(Math.abs(actual - tail)).toBeLessThan(exact[most + sum]! / 2 + 0.0002);
    }
  });

  it.each<Differences>([
    ['of three levels up to a millionth', 'drawn', (r) => signed(300, 168, (i) => 0.5 * (1 + (i % 3)) + 1e-6 * r.uniform())],
    ['spread evenly', 'approximated', (r) => signed(480, 268, () => r.uniform())],
  ])('matches 100,000 random choices of signs for differences %s', (...differences) => {
    expectLikeRandomSigns(differences);
  }); // oxfmt-ignore

  it('approximates drawn p-values, and gives the same value for swapped sides', () => {
    const differences = spread(2_000).map((one) => one - 0.49);
    const p = signFlipTest(differences, SEED);
    // the normal distribution function at 0.01 sqrt(2,000 * 12)
    expect(p).toBeCloseTo(0.1213, 2);
    expect(signFlipTest(differences.map((one) => -one), SEED)).toBe(p); // oxfmt-ignore
    expect(signFlipTest(differences.map((one) => 1e-305 * one), SEED)).toBeCloseTo(p, 6); // oxfmt-ignore
  });

  it('is never smaller than draws could give, and 1 for a sum of 0', () => {
    expect(signFlipTest(spread(3_000), SEED)).toBe(1 / 10_000);
    const differences = spread(1_000);
    const balanced = Float64Array.from([...differences, ...differences.map((one) => -one)]);
    expect(signFlipTest(balanced, SEED)).toBeCloseTo(1, 9);
  });

  it('returns null if the differences are few or alike, or if a few dominate', () => {
    const tail = (differences: Float64Array) => signFlipTail(differences, 1, 1e-6);
    expect(tail(spread(255))).toBeNull();
    expect(tail(repeated([0, 500, 500]))).toBeNull();
    const outlier = spread(5_000);
    outlier[7] = 1_000;
    expect(tail(outlier)).toBeNull();
    // steps of 1 that small differences do not smooth
    const stepped = Float64Array.from([...new Array<number>(5_000).fill(1), ...spread(500).map((one) => one / 1e6)]);
    expect(tail(stepped)).toBeNull();
    expect(tail(Float64Array.from([...new Array<number>(5_000).fill(1), ...spread(500)]))).not.toBeNull();
  }); // oxfmt-ignore
});
