import type { BootstrapDistribution } from './bootstrap';
import { normalCdf, normalQuantile } from './normal';
import { sumOf } from './sum';

/** From so many units on, a sum over them is worked out in place of drawn, which takes a tenth of the time. */
export const SADDLEPOINT_FROM = 256;
/** Values that are nearer to each other than this, the largest being 1, are alike: sums do not tell them apart. */
const ALIKE = 1 / 64;
/** Of values that are alike, so many are a lump; where units are fewer, this share of them is. */
const LUMP_MAX = 256;
const LUMP_SHARE = 1 / 8;
/** With fewer values than this that are unlike, sums are steps rather than a curve. */
const UNLIKE_FROM = 16;
const STEPS_MAX = 50;
/** How near to its z an end, or to its sum a test, is to come. */
const NEAR = 1e-9;
/** Nearer to the middle than this, in standard deviations, the correction is less than what rounding leaves of it. */
const MIDDLE = 0.01;
/** Taken once: where code runs in a context of its own, as under a test runner, each look at a global is a call. */
const { abs, exp, expm1, log, log1p, sqrt } = Math;

/**
 * Whether enough of these values are unlike each other. Lumps of values that are alike make steps in the distribution
 * of a sum, 2 apart at most, whether the values are the same or differ by a millionth. The values outside them smooth
 * that, where a sum of those varies by 1 at least: in standard deviations half of a step.
 *
 * @param values at most 1 in size
 */
function areUnlike(values: Float64Array): boolean {
  const sorted = values.slice().sort();
  const lump = Math.min(LUMP_MAX, Math.ceil(sorted.length * LUMP_SHARE));
  let unlike = 0;
  let squares = 0;
  let start = -Infinity;
  // values before this place are in a lump
  let beyond = 0;
  for (let i = 0; i < sorted.length; i++) {
    const value = sorted[i]!;
    if (i + lump <= sorted.length && sorted[i + lump - 1]! - value <= ALIKE) beyond = i + lump;
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

/** Whether none stands out: by fourth powers, no fewer vary than so many of one size would. */
const areMany = (squares: number, fourths: number): boolean =>
  squares * squares >= SADDLEPOINT_FROM * fourths;

/**
 * r*, which is distributed as a standard normal: P(sum <= its mean at the saddlepoint) is the normal distribution
 * function of it (O. E. Barndorff-Nielsen, Biometrika 73, 1986; it is the tail of R. Lugannani and S. Rice, "Saddle
 * point approximation for the distribution of the sum of independent random variables", Advances in Applied Probability
 * 12, 1980, in the form that is never below 0 or above 1).
 */
const rStar = (w: number, u: number): number => w + log(u / w) / w;

/**
 * How the mean of a bootstrap sample of these values is distributed (A. C. Davison and D. V. Hinkley, "Saddlepoint
 * approximations in resampling methods", Biometrika 75, 1988); null where they are too few or too much alike.
 */
export function meanDistribution(values: Float64Array): BootstrapDistribution | null {
  const count = values.length;
  if (count < SADDLEPOINT_FROM) return null;
  const mean = sumOf(values) / count;
  const centred = new Float64Array(count);
  for (let i = 0; i < count; i++) centred[i] = values[i]! - mean;
  const scale = scaled(centred);
  if (scale === null) return null;
  // the mean is rounded, by more than all variation where that is small
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
  // of a mean, what the jackknife gives and what the bias comes to are the same number
  const acceleration = cubes / (6 * squares ** 1.5);
  const quantile = (p: number): number =>
    mean + scale * quantileOfMean(centred, normalQuantile(p), acceleration, sqrt(squares));
  return { acceleration, shareBelow: normalCdf(acceleration), quantile };
}

/** Solves r*(t) = z for the tilt t. @param centred values with the mean 0, at most 1 @param size root of their squares */
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
    // near enough the derivative of w, and w is most of r*
    tilt -= distance / (abs(w) < MIDDLE ? size : (count * tilt * variance) / w);
  }
}

/**
 * How often, of differences with random signs, the sum is at least `observed`, for 0 <= `observed` (J. Robinson,
 * "Saddlepoint approximations for permutation tests and confidence intervals", J. Royal Statistical Society B 44, 1982);
 * null where they are too few or too much alike.
 *
 * @param least is answered for whatever is less
 */
export function signFlipTail(differences: Float64Array, observed: number, least: number): number | null {
  if (differences.length < SADDLEPOINT_FROM) return null;
  const sizes = new Float64Array(differences.length);
  for (let i = 0; i < sizes.length; i++) sizes[i] = abs(differences[i]!);
  const scale = scaled(sizes);
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
    // the sum is approached from below, and what it is then already beyond it stays beyond
    if (z > farthest) return least;
    if (abs(first - sum) <= NEAR * sqrt(squares) || step === STEPS_MAX) return Math.max(least, normalCdf(-z));
    tilt += (sum - first) / variance;
  }
}

/** Divides numbers by the largest of their sizes, and tells it; null where they are all 0, or it is none. */
function scaled(numbers: Float64Array): number | null {
  let scale = 0;
  for (let i = 0; i < numbers.length; i++) scale = Math.max(scale, abs(numbers[i]!));
  if (!(scale > 0 && Number.isFinite(scale))) return null;
  for (let i = 0; i < numbers.length; i++) numbers[i]! /= scale;
  return scale;
}
