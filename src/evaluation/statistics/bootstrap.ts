import { normalCdf, normalQuantile } from './normal';
import { Pace } from '#platform/turns';
import type { Resampled } from './resampled';
import { type Seed, Xoshiro128 } from './xoshiro';

/** The share of samples whose interval holds the true value, all being well. */
export const CONFIDENCE = 0.95;
export const RESAMPLES_MAX = 9_999;
/** About as many as the ends of an interval need (Efron and Tibshirani, section 12.5 and chapter 14: 1,000). */
export const RESAMPLES_MIN = 999;
/** What an interval may take, in draws of single units, before it makes do with fewer samples. */
const DRAWS = 2_000_000;
/** What is nearer to each other than this, for its size, differs by rounding alone. */
const ROUNDING = 1e-12;

export interface Interval {
  lower: number;
  upper: number;
}

/** How a statistic comes out on all samples of the bootstrap: what a BCa interval is made of. */
export interface BootstrapDistribution {
  /** The share of samples on which it is less than on the sample itself, ties counting half. Never 0 or 1. */
  readonly shareBelow: number;
  /** From the skewness of the statistic as each unit is left out in turn (Efron and Tibshirani, equation 14.15). */
  readonly acceleration: number;
  quantile(p: number): number;
}

/**
 * The 95 % bootstrap interval of a statistic, bias-corrected and accelerated (BCa: B. Efron, "Better bootstrap
 * confidence intervals", J. American Statistical Association 82, 1987; Efron and Tibshirani, "An Introduction to the
 * Bootstrap", 1993, section 14.3). Scores lie against the ends of their scale, so their means are skewed; there the plain
 * percentile interval is centred wrongly, and BCa corrects for it at the cost of one pass of leaving units out.
 *
 * Samples are drawn, 9,999 of them unless they are large; where a statistic knows its distribution without, none are.
 *
 * Units are what is independent: a case with all its trials is one unit (the cluster bootstrap of C. A. Field and A. H.
 * Welsh, "Bootstrapping clustered data", J. Royal Statistical Society B 69, 2007), so that repeating a case does not
 * make an interval narrower than what is known of the cases.
 *
 * @param pace of the computation that it is part of
 * @returns null where there is a single unit, or the statistic has no value, or has none on every other sample, or an
 *   end is no number.
 */
export async function bootstrapInterval(
  of: Resampled,
  seed: Seed,
  pace = new Pace(),
): Promise<Interval | null> {
  if (of.units < 2 || !Number.isFinite(of.estimate)) return null;
  if (pace.isDue()) await pace.rest();
  if (of.isConstant) return { lower: of.estimate, upper: of.estimate };
  const distribution = of.distribution?.() ?? (await drawn(of, seed, pace));
  if (!distribution) return null;
  const interval = withEstimate(bcaInterval(distribution), of.estimate);
  return Number.isFinite(interval.lower) && Number.isFinite(interval.upper) ? interval : null;
}

function bcaInterval(distribution: BootstrapDistribution): Interval {
  const { acceleration } = distribution;
  const bias = normalQuantile(distribution.shareBelow);
  const end = (z: number): number => {
    const shifted = bias + z;
    return distribution.quantile(normalCdf(bias + shifted / (1 - acceleration * shifted)));
  };
  const z = normalQuantile((1 + CONFIDENCE) / 2);
  return { lower: end(-z), upper: end(z) };
}

/** An end that is beyond the estimate by rounding alone is the estimate. */
function withEstimate({ lower, upper }: Interval, estimate: number): Interval {
  const near = ROUNDING * Math.abs(estimate);
  return {
    lower: lower > estimate && lower - estimate <= near ? estimate : lower,
    upper: upper < estimate && estimate - upper <= near ? estimate : upper,
  };
}

/** As it comes out on samples that are drawn; null where it has no value on half of them. */
async function drawn(of: Resampled, seed: Seed, pace: Pace): Promise<BootstrapDistribution | null> {
  await of.prepare?.(pace);
  const random = new Xoshiro128(seed);
  const resamples = Math.max(RESAMPLES_MIN, Math.min(RESAMPLES_MAX, Math.floor(DRAWS / of.cost)));
  const replicates =
    (await of.replicates?.(random, resamples, pace)) ?? (await oneByOne(of, random, resamples, pace));
  let count = 0;
  for (let i = 0; i < resamples; i++) {
    if (Number.isFinite(replicates[i]!)) replicates[count++] = replicates[i]!;
  }
  if (count <= resamples / 2) return null;
  const sorted = replicates.subarray(0, count).sort();
  return {
    shareBelow: shareBelow(of.estimate, sorted),
    acceleration: await accelerationOf(of, pace),
    quantile: (p) => quantile(sorted, p),
  };
}

async function oneByOne(
  of: Resampled,
  random: Xoshiro128,
  resamples: number,
  pace: Pace,
): Promise<Float64Array> {
  const replicates = new Float64Array(resamples);
  for (let i = 0; i < resamples; i++) {
    replicates[i] = of.replicate(random);
    if (pace.isDue()) await pace.rest();
  }
  return replicates;
}

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
