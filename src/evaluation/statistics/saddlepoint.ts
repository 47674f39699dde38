import { normalCdf, normalQuantile, sumOf } from './numeric';

const { abs, exp, expm1, log, log1p, sqrt } = Math;

/** From this many units on, the distribution of a sum is approximated, which takes a tenth as long as drawing. */
export const SADDLEPOINT_FROM = 256;
/** Values closer than this are alike, on a scale on which the largest is 1, because sums do not distinguish them. */
const ALIKE = 1 / 64;
/** A cluster of alike values has at least this many values, or at least `CLUSTER_SHARE` of all values if that is fewer. */
const CLUSTER_MIN = 256;
const CLUSTER_SHARE = 1 / 8;
/** With fewer distinct values than this, the distribution of a sum has steps. */
const UNLIKE_FROM = 16;
const STEPS_MAX = 50;
/** The precision of the solver, in standard deviations. */
const NEAR = 1e-9;
/** Within this distance of the middle, in standard deviations, the rounding error exceeds the correction. */
const MIDDLE = 0.01;

/** The bootstrap distribution of a statistic, as a BCa interval needs it. */
export interface BootstrapDistribution {
  /** The share of resamples whose statistic is below the estimate; ties count half. Never 0 or 1. */
  readonly shareBelow: number;
  /** The skewness of the statistic under leave-one-out (Efron and Tibshirani, equation 14.15). */
  readonly acceleration: number;
  quantile(p: number): number;
}

/**
 * Returns whether enough of the values are unlike each other. Clusters of alike values make steps in the distribution of a
 * sum, at most 2 apart, whether the values are equal or differ by a millionth. The values outside clusters smooth the steps
 * if the standard deviation of their sum is at least 1, half of a step.
 *
 * @param values at most 1 in size
 */
function areUnlike(values: Float64Array): boolean {
  const sorted = values.slice().sort();
  const clusterSize = Math.min(CLUSTER_MIN, Math.ceil(sorted.length * CLUSTER_SHARE));
  let unlike = 0;
  let squares = 0;
  let start = -Infinity;
  // values before this index are in a cluster
  let beyond = 0;
  for (let i = 0; i < sorted.length; i++) {
    const value = sorted[i]!;
    if (i + clusterSize <= sorted.length && sorted[i + clusterSize - 1]! - value <= ALIKE)
      beyond = i + clusterSize;
    if (i < beyond) continue;
    squares += value * value;
    if (value - start > ALIKE) {
      unlike++;
      start = value;
    }
    if (unlike >= UNLIKE_FROM && squares >= 1) return true;
  }
  return false;
}

/** Returns whether no value dominates: by fourth powers, as many vary as `SADDLEPOINT_FROM` of one size would. */
const areMany = (squares: number, fourths: number): boolean =>
  squares * squares >= SADDLEPOINT_FROM * fourths;

/**
 * Returns r*, which has a standard normal distribution: its normal distribution function is P(sum <= the mean at the
 * saddlepoint) (O. E. Barndorff-Nielsen, Biometrika 73, 1986; it is the tail of R. Lugannani and S. Rice, "Saddle
 * point approximation for the distribution of the sum of independent random variables", Advances in Applied Probability
 * 12, 1980, in the form that stays between 0 and 1).
 */
const rStar = (w: number, u: number): number => w + log(u / w) / w;

/**
 * Returns the distribution of the mean of a bootstrap sample (A. C. Davison and D. V. Hinkley, "Saddlepoint
 * approximations in resampling methods", Biometrika 75, 1988); null if the values are too few or too much alike.
 */
export function meanDistribution(values: Float64Array): BootstrapDistribution | null {
  const count = values.length;
  if (count < SADDLEPOINT_FROM) return null;
  const mean = sumOf(values) / count;
  const centred = new Float64Array(count);
  for (let i = 0; i < count; i++) centred[i] = values[i]! - mean;
  const scale = rescale(centred);
  if (scale === null) return null;
  // a small variation may be smaller than the rounding error of the mean
  const rest = sumOf(centred) / count;
  for (let i = 0; i < count; i++) centred[i]! -= rest;
  let squares = 0;
  let cubes = 0;
  let fourths = 0;
  for (let i = 0; i < count; i++) {
    const one = centred[i]!;
    const square = one * one;
    squares += square;
    cubes += square * one;
    fourths += square * square;
  }
  if (!areMany(squares, fourths) || !areUnlike(centred)) return null;
  // for a mean, the acceleration by the jackknife equals the bias
  const acceleration = cubes / (6 * squares ** 1.5);
  const quantile = (p: number): number =>
    mean + scale * quantileOfMean(centred, normalQuantile(p), acceleration, sqrt(squares));
  return { acceleration, shareBelow: normalCdf(acceleration), quantile };
}

/** Solves r*(t) = z for the tilt t. @param centred values of mean 0, at most 1 in size @param size root of their squares */
function quantileOfMean(centred: Float64Array, z: number, middle: number, size: number): number {
  const count = centred.length;
  let tilt = (z - middle) / size;
  for (let step = 0; ; step++) {
    let sum = 0;
    let first = 0;
    let second = 0;
    for (let i = 0; i < count; i++) {
      const value = centred[i]!;
      const weight = exp(tilt * value);
      sum += weight;
      first += weight * value;
      second += weight * value * value;
    }
    const mean = first / sum;
    const variance = second / sum - mean * mean;
    const w = Math.sign(tilt) * sqrt(Math.max(0, 2 * count * (tilt * mean - log(sum / count))));
    const u = tilt * sqrt(count * variance);
    const distance = (abs(w) < MIDDLE ? w + middle : rStar(w, u)) - z;
    if (abs(distance) < NEAR || step === STEPS_MAX) return mean;
    // about the derivative of w, which is most of r*
    tilt -= distance / (abs(w) < MIDDLE ? size : (count * tilt * variance) / w);
  }
}

/**
 * Returns the probability that the sum of the differences under random signs is at least `observed` (J. Robinson,
 * "Saddlepoint approximations for permutation tests and confidence intervals", J. Royal Statistical Society B 44, 1982);
 * null if the differences are too few or too much alike.
 *
 * @param observed at least 0
 * @param least the smallest probability returned
 */
export function signFlipTail(differences: Float64Array, observed: number, least: number): number | null {
  if (differences.length < SADDLEPOINT_FROM) return null;
  const sizes = differences.map(abs);
  const scale = rescale(sizes);
  if (scale === null) return null;
  let squares = 0;
  let fourths = 0;
  for (let i = 0; i < sizes.length; i++) {
    const square = sizes[i]! * sizes[i]!;
    squares += square;
    fourths += square * square;
  }
  if (!areMany(squares, fourths) || !areUnlike(sizes)) return null;
  const sum = observed / scale;
  const farthest = -normalQuantile(least);
  let tilt = sum / squares;
  for (let step = 0; ; step++) {
    let first = 0;
    let variance = 0;
    let cumulant = 0;
    for (let i = 0; i < sizes.length; i++) {
      const size = sizes[i]!;
      const x = tilt * size;
      // ln cosh x = x + ln(1 + e / 2), tanh x = -e / (2 + e)
      const e = expm1(-2 * x);
      const slope = -e / (2 + e);
      cumulant += x + log1p(e / 2);
      first += size * slope;
      variance += size * size * (1 - slope * slope);
    }
    const w = sqrt(2 * Math.max(0, tilt * first - cumulant));
    const z = w < MIDDLE ? w : rStar(w, tilt * sqrt(variance));
    // the solver approaches the sum from below, so the tail can only get smaller
    if (z > farthest) return least;
    if (abs(first - sum) <= NEAR * sqrt(squares) || step === STEPS_MAX) return Math.max(least, normalCdf(-z));
    tilt += (sum - first) / variance;
  }
}

/** Divides the numbers by their largest size and returns it; null if that is 0 or not finite. */
function rescale(numbers: Float64Array): number | null {
  let scale = 0;
  for (let i = 0; i < numbers.length; i++) scale = Math.max(scale, abs(numbers[i]!));
  if (!(scale > 0 && Number.isFinite(scale))) return null;
  for (let i = 0; i < numbers.length; i++) numbers[i]! /= scale;
  return scale;
}
