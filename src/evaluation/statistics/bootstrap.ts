import { lowerBound, normalCdf, normalQuantile } from './numeric';
import { type Seed, Xoshiro128 } from './random';
import type { ResampledStatistic } from './resampled-statistic';
import type { BootstrapDistribution } from './saddlepoint';

/** Confidence level: the share of samples whose interval covers the true value. */
export const CONFIDENCE = 0.95;
export const RESAMPLES_MAX = 9_999;
/** The ends of an interval need about 1,000 resamples (Efron and Tibshirani, section 12.5 and chapter 14). */
export const RESAMPLES_MIN = 999;
/** The budget of one interval, in draws of single units. Costly statistics get fewer resamples. */
const DRAWS = 2_000_000;
/** Values with a relative difference below this are equal up to rounding. */
const ROUNDING = 1e-12;

export interface Interval {
  lower: number;
  upper: number;
}

/**
 * Returns the 95% bootstrap interval of a statistic, bias-corrected and accelerated (BCa: B. Efron, "Better bootstrap
 * confidence intervals", J. American Statistical Association 82, 1987; Efron and Tibshirani, "An Introduction to the
 * Bootstrap", 1993, section 14.3). Scores often lie at the ends of their scale, so their means are skewed. A plain
 * percentile interval would be off-centre; BCa corrects that at the cost of one leave-one-out pass.
 *
 * Draws 9,999 resamples, or fewer if they are costly. A statistic with a known distribution needs no resamples.
 *
 * Units are independent of each other. A case with all its trials is one unit (the cluster bootstrap of C. A. Field and
 * A. H. Welsh, "Bootstrapping clustered data", J. Royal Statistical Society B 69, 2007), so that repeating a case does
 * not narrow the interval.
 *
 * @returns null for a single unit, for a statistic without a value on the sample or on half of the resamples, and if an
 *   end is not finite
 */
export function bootstrapInterval(statistic: ResampledStatistic, seed: Seed): Interval | null {
  if (statistic.units < 2 || !Number.isFinite(statistic.estimate)) return null;
  if (statistic.isConstant) return { lower: statistic.estimate, upper: statistic.estimate };
  const distribution = statistic.distribution?.() ?? drawDistribution(statistic, seed);
  if (!distribution) return null;
  const interval = includeEstimate(bcaInterval(distribution), statistic.estimate);
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

/** Replaces an end by the estimate if it lies beyond the estimate only because of rounding. */
function includeEstimate({ lower, upper }: Interval, estimate: number): Interval {
  const near = ROUNDING * Math.abs(estimate);
  return {
    lower: lower > estimate && lower - estimate <= near ? estimate : lower,
    upper: upper < estimate && estimate - upper <= near ? estimate : upper,
  };
}

/** Draws resamples. Returns null if the statistic has no value on half of them. */
function drawDistribution(statistic: ResampledStatistic, seed: Seed): BootstrapDistribution | null {
  const random = new Xoshiro128(seed);
  const resamples = Math.max(RESAMPLES_MIN, Math.min(RESAMPLES_MAX, Math.floor(DRAWS / statistic.cost)));
  const replicates =
    statistic.replicates?.(random, resamples) ??
    new Float64Array(resamples).map(() => statistic.replicate(random));
  let count = 0;
  for (let i = 0; i < resamples; i++) {
    if (Number.isFinite(replicates[i]!)) replicates[count++] = replicates[i]!;
  }
  if (count <= resamples / 2) return null;
  const sorted = replicates.subarray(0, count).sort();
  return {
    shareBelow: shareBelow(statistic.estimate, sorted),
    acceleration: accelerationOf(statistic),
    quantile: (p) => quantile(sorted, p),
  };
}

function shareBelow(estimate: number, sorted: Float64Array): number {
  const tolerance = ROUNDING * Math.max(Math.abs(sorted[0]!), Math.abs(sorted.at(-1)!), Math.abs(estimate));
  const less = lowerBound(sorted, estimate - tolerance);
  const notMore = lowerBound(sorted, estimate + tolerance);
  const share = (less + notMore) / (2 * sorted.length);
  const least = 1 / (2 * sorted.length);
  return Math.min(1 - least, Math.max(least, share));
}

/** Interpolates between the two nearest values (definition 7 of R. J. Hyndman and Y. Fan, The American Statistician 50, 1996). */
export function quantile(sorted: Float64Array, p: number): number {
  const place = p * (sorted.length - 1);
  const below = Math.min(sorted.length - 1, Math.floor(place));
  const above = Math.min(sorted.length - 1, below + 1);
  return sorted[below]! + (place - below) * (sorted[above]! - sorted[below]!);
}

function accelerationOf(statistic: ResampledStatistic): number {
  const values: { value: number; units: number }[] = [];
  let units = 0;
  let sum = 0;
  for (const one of statistic.leaveOneOut()) {
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
