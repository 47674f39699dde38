import { normalCdf, normalQuantile } from './normal';
import { Pace } from './pace';
import { Resampler } from './resampler';
import { type Seed, Xoshiro128 } from './xoshiro';

/** The share of samples whose interval holds the true value, all being well. */
export const CONFIDENCE = 0.95;
export const RESAMPLES_MAX = 9_999;
/** About as many as the ends of an interval need (Efron and Tibshirani, section 12.5 and chapter 14: 1,000). */
export const RESAMPLES_MIN = 999;
/** Draws of single units that an interval may take, before it makes do with fewer samples. */
const DRAWS = 12_000_000;
/** What is nearer to each other than this, for its size, differs by rounding alone. */
const ROUNDING = 1e-12;

export interface Interval {
  lower: number;
  upper: number;
}

/** A statistic of a sample of units, and how it comes out on others. */
export interface Resampled {
  readonly units: number;
  /** What a sample costs, in draws of single units. */
  readonly cost: number;
  /** Of the sample itself; NaN where the statistic has no value. */
  readonly estimate: number;
  /** Of a new sample of as many units, drawn from this one with replacement. */
  replicate(random: Xoshiro128): number;
  /** Of the sample without one unit, for each group of units that are alike, and how many of them there are. */
  leaveOneOut(): Iterable<{ value: number; units: number }>;
}

/**
 * The 95 % bootstrap interval of a statistic, bias-corrected and accelerated (BCa: B. Efron, "Better bootstrap
 * confidence intervals", J. American Statistical Association 82, 1987; Efron and Tibshirani, "An Introduction to the
 * Bootstrap", 1993, section 14.3). Scores lie against the ends of their scale, so their means are skewed; there the plain
 * percentile interval is centred wrongly, and BCa corrects for it at the cost of one pass of leaving units out.
 *
 * Units are what is independent: a case with all its trials is one unit (the cluster bootstrap of C. A. Field and A. H.
 * Welsh, "Bootstrapping clustered data", J. Royal Statistical Society B 69, 2007), so that repeating a case does not
 * make an interval narrower than what is known of the cases.
 *
 * @returns null where there is a single unit, or the statistic has no value, or has none on every other sample.
 */
export async function bootstrapInterval(of: Resampled, seed: Seed): Promise<Interval | null> {
  if (of.units < 2 || !Number.isFinite(of.estimate)) return null;
  const pace = new Pace();
  const random = new Xoshiro128(seed);
  const resamples = Math.max(RESAMPLES_MIN, Math.min(RESAMPLES_MAX, Math.floor(DRAWS / of.cost)));
  const replicates = new Float64Array(resamples);
  let count = 0;
  for (let i = 0; i < resamples; i++) {
    const value = of.replicate(random);
    if (Number.isFinite(value)) replicates[count++] = value;
    if (pace.isDue()) await pace.rest();
  }
  if (count <= resamples / 2) return null;
  const sorted = replicates.subarray(0, count).sort();
  return bcaInterval(of.estimate, sorted, await accelerationOf(of, pace));
}

/** @param sorted the replicates, ascending. */
function bcaInterval(estimate: number, sorted: Float64Array, acceleration: number): Interval {
  const bias = normalQuantile(shareBelow(estimate, sorted));
  const end = (z: number): number => {
    const shifted = bias + z;
    return quantile(sorted, normalCdf(bias + shifted / (1 - acceleration * shifted)));
  };
  const z = normalQuantile((1 + CONFIDENCE) / 2);
  return { lower: end(-z), upper: end(z) };
}

/** How many of the replicates are less than the estimate, those equal to it counting half. Never 0 or 1. */
function shareBelow(estimate: number, sorted: Float64Array): number {
  const tolerance = ROUNDING * Math.max(Math.abs(sorted[0]!), Math.abs(sorted.at(-1)!), Math.abs(estimate));
  const less = firstNotBelow(sorted, estimate - tolerance);
  const notMore = firstNotBelow(sorted, estimate + tolerance);
  const share = (less + notMore) / (2 * sorted.length);
  const least = 1 / (2 * sorted.length);
  return Math.min(1 - least, Math.max(least, share));
}

function firstNotBelow(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Interpolated between the two nearest (definition 7 of R. J. Hyndman and Y. Fan, The American Statistician 50, 1996). */
function quantile(sorted: Float64Array, p: number): number {
  const place = p * (sorted.length - 1);
  const below = Math.min(sorted.length - 1, Math.floor(place));
  const above = Math.min(sorted.length - 1, below + 1);
  return sorted[below]! + (place - below) * (sorted[above]! - sorted[below]!);
}

/** From the skewness of the statistic as each unit is left out in turn (Efron and Tibshirani, equation 14.15). */
async function accelerationOf(of: Resampled, pace: Pace): Promise<number> {
  const values: { value: number; units: number }[] = [];
  let units = 0;
  let sum = 0;
  for (const one of of.leaveOneOut()) {
    if (pace.isDue()) await pace.rest();
    if (!Number.isFinite(one.value)) continue;
    values.push(one);
    units += one.units;
    sum += one.value * one.units;
  }
  let squares = 0;
  let cubes = 0;
  for (const one of values) {
    const distance = sum / units - one.value;
    squares += one.units * distance ** 2;
    cubes += one.units * distance ** 3;
  }
  const scale = 6 * squares ** 1.5;
  return scale > 0 && Number.isFinite(cubes / scale) ? cubes / scale : 0;
}

/** A statistic that is a function of how many units each group has. @param sizes of the groups, at least one each. */
export function ofCounts(
  sizes: Float64Array,
  statistic: (counts: Float64Array, units: number) => number,
): Resampled {
  const units = sizes.reduce((sum, size) => sum + size, 0);
  const resampler = new Resampler(sizes, units);
  const counts = new Float64Array(sizes.length);
  return {
    units,
    cost: resampler.cost + sizes.length,
    estimate: statistic(sizes, units),
    replicate(random) {
      resampler.drawCounts(random, counts);
      return statistic(counts, units);
    },
    *leaveOneOut() {
      const without = sizes.slice();
      for (let group = 0; group < sizes.length; group++) {
        without[group]!--;
        yield { value: statistic(without, units - 1), units: sizes[group]! };
        without[group]!++;
      }
    },
  };
}

/**
 * A statistic that is a function of sums over the units: a mean is one sum over their number, a mean of clusters a
 * ratio of two sums. @param columns each with one number for each unit; all of the same length.
 */
export function ofTotals(
  columns: readonly Float64Array[],
  statistic: (totals: Float64Array, units: number) => number,
): Resampled {
  const units = columns[0]!.length;
  const { first, sizes } = groupsOf(columns);
  const resampler = new Resampler(sizes, units);
  const grouped = columns.map((column) =>
    resampler.column(Float64Array.from(first, (unit) => column[unit]!)),
  );
  const whole = Float64Array.from(columns, (column) => column.reduce((sum, value) => sum + value, 0));
  const totals = new Float64Array(columns.length);
  return {
    units,
    cost: resampler.cost * columns.length,
    estimate: statistic(whole, units),
    replicate(random) {
      resampler.drawTotals(random, grouped, totals);
      return statistic(totals, units);
    },
    *leaveOneOut() {
      for (let group = 0; group < sizes.length; group++) {
        for (let i = 0; i < totals.length; i++) totals[i] = whole[i]! - grouped[i]!.ofGroup[group]!;
        yield { value: statistic(totals, units - 1), units: sizes[group]! };
      }
    },
  };
}

/** What follows a number: the next column's, or after the last the group. */
type Branch = Map<number, Branch | number>;

/** Groups units that have the same number in every column, in the order in which they are first met. */
function groupsOf(columns: readonly Float64Array[]): { first: number[]; sizes: number[] } {
  const root: Branch = new Map();
  const first: number[] = [];
  const sizes: number[] = [];
  const last = columns.length - 1;
  for (let unit = 0; unit < columns[0]!.length; unit++) {
    let branch = root;
    for (let column = 0; column < last; column++) {
      const value = columns[column]![unit]!;
      let next = branch.get(value) as Branch | undefined;
      if (!next) branch.set(value, (next = new Map()));
      branch = next;
    }
    const value = columns[last]![unit]!;
    const group = branch.get(value) as number | undefined;
    if (group === undefined) {
      branch.set(value, sizes.length);
      first.push(unit);
      sizes.push(1);
    } else {
      sizes[group]!++;
    }
  }
  return { first, sizes };
}
