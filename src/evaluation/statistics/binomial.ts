import type { Xoshiro128 } from './xoshiro';

/** Where the expected number of successes is less, counting up from 0 is quicker than trying. */
const TRY_FROM = 10;
/** Taken once, as in the generator. */
const { abs, exp, floor, log, log1p, sqrt } = Math;
const HALF_LOG_TAU = 0.5 * log(2 * Math.PI);

/** How many of `n` trials succeed, each with probability `p`: one exact draw. */
export function drawBinomial(random: Xoshiro128, n: number, p: number): number {
  if (n === 0 || p <= 0) return 0;
  if (p >= 1) return n;
  if (p > 0.5) return n - drawBinomial(random, n, 1 - p);
  return n * p < TRY_FROM ? drawByInversion(random, n, p) : drawByRejection(random, n, p);
}

/** Algorithm BINV (V. Kachitvichyanukul and B. W. Schmeiser, "Binomial random variate generation", CACM 31, 1988). */
function drawByInversion(random: Xoshiro128, n: number, p: number): number {
  const odds = p / (1 - p);
  let u = random.uniform();
  let probability = exp(n * log1p(-p));
  let k = 0;
  while (u > probability && k < n) {
    u -= probability;
    k++;
    probability *= (odds * (n - k + 1)) / k;
  }
  return k;
}

/**
 * Algorithm BTRS: transformed rejection with a squeeze (W. Hörmann, "The generation of binomial random variates",
 * J. Statistical Computation and Simulation 46, 1993).
 */
function drawByRejection(random: Xoshiro128, n: number, p: number): number {
  const spread = sqrt(n * p * (1 - p));
  const b = 1.15 + 2.53 * spread;
  const a = -0.0873 + 0.0248 * b + 0.01 * p;
  const c = n * p + 0.5;
  const squeeze = 0.92 - 4.2 / b;
  const alpha = (2.83 + 5.1 / b) * spread;
  const mode = floor((n + 1) * p);
  for (;;) {
    const u = random.uniform() - 0.5;
    const v = random.uniform();
    const distance = 0.5 - abs(u);
    const k = floor(((2 * a) / distance + b) * u + c);
    if (distance >= 0.07 && v <= squeeze) return k;
    if (k < 0 || k > n) continue;
    const bound = log((v * alpha) / (a / (distance * distance) + b));
    const ratio =
      (mode - k) * log((1 - p) / p) +
      logFactorial(mode) +
      logFactorial(n - mode) -
      logFactorial(k) -
      logFactorial(n - k);
    if (bound <= ratio) return k;
  }
}

const SMALL_FACTORIALS = 128;
const LOG_FACTORIALS = new Float64Array(SMALL_FACTORIALS);
for (let i = 2; i < SMALL_FACTORIALS; i++) LOG_FACTORIALS[i] = LOG_FACTORIALS[i - 1]! + log(i);

/** ln k!, beyond a table by Stirling's series (to 1e-16 there). */
function logFactorial(k: number): number {
  if (k < SMALL_FACTORIALS) return LOG_FACTORIALS[k]!;
  const square = k * k;
  const series = (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / k;
  return (k + 0.5) * log(k) - k + HALF_LOG_TAU + series;
}

/** How often at least `k` of `n` fair coins fall one way, for `k` of at least half of them: to some 12 digits. */
export function fairTail(n: number, k: number): number {
  let term = exp(logFactorial(n) - logFactorial(k) - logFactorial(n - k) - n * Math.LN2);
  let sum = 0;
  for (let i = k; i <= n && term > sum * Number.EPSILON; i++) {
    sum += term;
    term *= (n - i) / (i + 1);
  }
  return sum;
}
