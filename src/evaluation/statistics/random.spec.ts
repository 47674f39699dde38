import { normalCdf, normalQuantile } from './numeric';
import { drawBinomial, seedOf, Xoshiro128 } from './random';
import { Resampler } from './resampler';

describe('xoshiro128**', () => {
  it('generates the numbers of the published algorithm', () => {
    // the output of the authors' C code for the state 1, 2, 3, 4
    const published = [
      11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597, 4258142804,
    ];
    const random = new Xoshiro128([1, 2, 3, 4]);
    expect(published.map(() => random.word() >>> 0)).toEqual(published);
    const filled = new Int32Array(10);
    new Xoshiro128([1, 2, 3, 4]).fill(filled, 10);
    expect([...filled].map((word) => word >>> 0)).toEqual(published);
  });

  it('derives equal seeds from equal texts only', () => {
    const first = (...texts: string[]) => new Xoshiro128(seedOf(...texts)).word();
    expect(first('a', 'bc')).toBe(first('a', 'bc'));
    expect(first('a', 'bc')).not.toBe(first('ab', 'c'));
    expect(() => new Xoshiro128([0, 0, 0, 0])).toThrow('zeros');
  });

  it('generates uniform numbers below 1, and integers below a bound', () => {
    const random = new Xoshiro128(seedOf('uniform'));
    const uniforms = Array.from({ length: 20_000 }, () => random.uniform());
    expect(uniforms.every((u) => u >= 0 && u < 1)).toBe(true);
    const mean = uniforms.reduce((sum, u) => sum + u, 0) / uniforms.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.01);
    const faces = new Float64Array(6);
    for (let i = 0; i < 60_000; i++) faces[random.below(6)]!++;
    expect(chiSquare(faces, new Float64Array(6).fill(10_000))).toBeLessThan(20.5); // 5 degrees, p = 0.001
  });
});

describe('the normal distribution', () => {
  it.each([
    [-3.5, 0.00023262907903552502],
    [-0.5, 0.3085375387259869],
    [0, 0.5],
    [0.25, 0.5987063256829237],
    [2.3, 0.9892758899783242],
  ])('has the tabulated distribution at %d', (x, p) => {
    expect(normalCdf(x)).toBeCloseTo(p, 14);
    expect(normalQuantile(p)).toBeCloseTo(x, 10);
  });

  it('has its 97.5% quantile at 1.96', () => {
    expect(normalQuantile(0.975)).toBeCloseTo(1.959963984540054, 12);
    expect(normalQuantile(0.0001)).toBeCloseTo(-3.7190164854556804, 10);
    expect([normalCdf(-40), normalCdf(40)]).toEqual([0, 1]);
  });
});

describe('drawBinomial', () => {
  it.each([
    [7, 0.3],
    [200, 0.02],
    [40, 0.5],
    [150, 0.72],
    [3_000, 0.01],
  ])('follows the binomial distribution for %d trials at %d', (n, p) => {
    const random = new Xoshiro128(seedOf('binomial', String(n)));
    const draws = 100_000;
    const seen = new Float64Array(n + 1);
    for (let i = 0; i < draws; i++) seen[drawBinomial(random, n, p)]!++;
    // pools the outcomes that are expected fewer than 10 times
    const observed: number[] = [0];
    const expected: number[] = [0];
    let probability = Math.exp(n * Math.log1p(-p));
    for (let k = 0; k <= n; k++) {
      observed[observed.length - 1]! += seen[k]!;
      expected[expected.length - 1]! += draws * probability;
      if (expected.at(-1)! >= 10 && k < n) {
        observed.push(0);
        expected.push(0);
      }
      probability *= ((n - k) / (k + 1)) * (p / (1 - p));
    }
    const degrees = expected.length - 1;
    // the 99.9% quantile of chi-square, by the approximation of Wilson and Hilferty
    const bound = degrees * (1 - 2 / (9 * degrees) + 3.09 * Math.sqrt(2 / (9 * degrees))) ** 3;
    expect(chiSquare(observed.slice(0, -1), expected.slice(0, -1))).toBeLessThan(bound);
  });

  it('is deterministic for probabilities of 0 and 1', () => {
    const random = new Xoshiro128(seedOf('certain'));
    expect([drawBinomial(random, 0, 0.5), drawBinomial(random, 9, 0), drawBinomial(random, 9, 1)]).toEqual([
      0, 0, 9,
    ]);
  });
});

describe('Resampler', () => {
  // large groups, small groups and single units, to cover each way of drawing
  const sizes = [400, 40, 31, 31, 7, ...new Array<number>(300).fill(1)];
  const total = sizes.reduce((sum, size) => sum + size, 0);

  it('draws as many units as there are, all with the same probability', () => {
    const resampler = new Resampler(sizes, total);
    const random = new Xoshiro128(seedOf('sample'));
    const counts = new Float64Array(sizes.length);
    const sums = new Float64Array(sizes.length);
    const samples = 4_000;
    for (let i = 0; i < samples; i++) {
      resampler.drawCounts(random, counts);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(total);
      for (let group = 0; group < sizes.length; group++) sums[group]! += counts[group]!;
    }
    const expected = sizes.map((size) => size * samples);
    expect(chiSquare(sums, expected)).toBeLessThan(384); // 304 degrees, p = 0.001
  });

  it.each(sizes.slice(0, 6).map((size, group) => [size, group]))(
    'draws a group of %d units with the right mean and variance in drawSums',
    (size, group) => {
      const resampler = new Resampler(sizes, total);
      const isOfGroup = Float64Array.from(sizes, (_, other) => Number(other === group));
      const samples = 20_000;
      const random = new Xoshiro128(seedOf('sums', String(group)));
      const sums = resampler.drawSums(random, resampler.column(isOfGroup), samples);
      const mean = sums.reduce((sum, one) => sum + one, 0) / samples;
      const variance = sums.reduce((sum, one) => sum + (one - mean) ** 2, 0) / samples;
      // the variance of the binomial distribution
      const expected = size * (1 - size / total);
      expect(Math.abs(mean - size)).toBeLessThan(4 * Math.sqrt(expected / samples));
      expect(Math.abs(variance / expected - 1)).toBeLessThan(4 * Math.sqrt((2 + 1 / expected) / samples));
    },
  );

  it('draws all pairs of units of a block with the same probability in drawSums', () => {
    // with two units, a sample has the second unit twice in a quarter of the samples, and once in half of them
    const resampler = new Resampler([1, 1], 2);
    const column = resampler.column(Float64Array.of(0, 1));
    const sums = resampler.drawSums(new Xoshiro128(seedOf('pairs')), column, 10_000);
    const seen = new Float64Array(3);
    for (const sum of sums) seen[sum]!++;
    expect(chiSquare(seen, [2_500, 5_000, 2_500])).toBeLessThan(13.8); // 2 degrees, p = 0.001
  });

  it('draws the same totals by counts and by sums', () => {
    const resampler = new Resampler(sizes, total);
    const values = Float64Array.from(sizes, (_, group) => group * 3 - 100);
    const counts = new Float64Array(sizes.length);
    const totals = new Float64Array(2);
    const counting = new Xoshiro128(seedOf('same'));
    const summing = new Xoshiro128(seedOf('same'));
    const columns = [resampler.column(values), resampler.column(new Float64Array(sizes.length).fill(1))];
    for (let i = 0; i < 50; i++) {
      resampler.drawCounts(counting, counts);
      resampler.drawTotals(summing, columns, totals);
      const counted = counts.reduce((sum, count, group) => sum + count * values[group]!, 0);
      expect([...totals]).toEqual([counted, total]);
    }
  });
});

function chiSquare(observed: ArrayLike<number>, expected: ArrayLike<number>): number {
  return Array.from(observed).reduce((sum, count, i) => sum + (count - expected[i]!) ** 2 / expected[i]!, 0);
}
