const { exp, log } = Math;

/** Beyond this many standard deviations the normal distribution function is 0 or 1 in a double. */
const FAR = 9;
const BISECTIONS = 64;
const HALF_LOG_TAU = 0.5 * log(2 * Math.PI);

/** Returns the sum of the values. A loop takes a fifth of the time of `reduce` on typed arrays. */
export function sumOf(values: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum;
}

/** Numbers distinct values from 0, in order of first appearance. */
export class Numbering<Value> {
  private readonly numbers = new Map<Value, number>();

  numberOf(value: Value): number {
    let number = this.numbers.get(value);
    if (number === undefined) this.numbers.set(value, (number = this.numbers.size));
    return number;
  }

  get size(): number {
    return this.numbers.size;
  }

  /** The values, in the order of their numbers. */
  get values(): Value[] {
    return [...this.numbers.keys()];
  }
}

/** Decimal digits of a quotient. A double has 17. */
const QUOTIENT_DIGITS = 40;
const DECIMAL = /^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/**
 * Returns the mean of the values that are not NaN, as the decimal numbers that JavaScript writes: the double nearest to
 * their exact mean, so that the mean of 0.1 and 0.2 is 0.15. Null without values.
 */
export function decimalMean(values: Float64Array): number | null {
  const counts = new Map<number, number>();
  let count = 0;
  let sum = 0;
  let isExact = true;
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    count++;
    sum += value;
    isExact &&= Number.isSafeInteger(value) && Number.isSafeInteger(sum);
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  if (count === 0) return null;
  return isExact ? sum / count : meanOfCounted(counts, count);
}

function meanOfCounted(counts: ReadonlyMap<number, number>, count: number): number {
  const sums = new Map<number, bigint>(); // sums of the digits, by exponent
  for (const [value, times] of counts) {
    const [, whole = '', fraction = '', power = '0'] = DECIMAL.exec(String(value)) ?? [];
    const exponent = Number(power) - fraction.length;
    sums.set(exponent, (sums.get(exponent) ?? 0n) + BigInt(whole + fraction) * BigInt(times));
  }
  const lowest = Math.min(...sums.keys());
  const total = [...sums].reduce(
    (sum, [exponent, digits]) => sum + digits * 10n ** BigInt(exponent - lowest),
    0n,
  );
  const scaled = total * 10n ** BigInt(QUOTIENT_DIGITS);
  return Number(`${scaled / BigInt(count)}e${lowest - QUOTIENT_DIGITS}`);
}

/** Returns the index of the first of the sorted values that is not below `value`. */
export function lowerBound(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the standard normal distribution function, by the series of G. Marsaglia (J. Statistical Software 11(4), 2004). */
export function normalCdf(x: number): number {
  if (x <= -FAR) return 0;
  if (x >= FAR) return 1;
  let sum = x;
  let term = x;
  for (let i = 3; ; i += 2) {
    term *= (x * x) / i;
    const next = sum + term;
    if (next === sum) break;
    sum = next;
  }
  return 0.5 + (sum * exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

/** Returns the inverse of `normalCdf`, by bisection. @param p greater than 0 and less than 1 */
export function normalQuantile(p: number): number {
  let low = -FAR;
  let high = FAR;
  for (let i = 0; i < BISECTIONS; i++) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

const SMALL_FACTORIALS = 128;
const LOG_FACTORIALS = new Float64Array(SMALL_FACTORIALS);
for (let i = 2; i < SMALL_FACTORIALS; i++) LOG_FACTORIALS[i] = LOG_FACTORIALS[i - 1]! + log(i);

/** Returns ln k! from a table, and beyond the table by Stirling's series (accurate to 1e-16 there). */
export function logFactorial(k: number): number {
  if (k < SMALL_FACTORIALS) return LOG_FACTORIALS[k]!;
  const square = k * k;
  const series = (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / k;
  return (k + 0.5) * log(k) - k + HALF_LOG_TAU + series;
}

/** Returns the probability that at least `k` of `n` fair coins show heads, to about 12 digits. @param k at least n / 2 */
export function fairTail(n: number, k: number): number {
  let term = exp(logFactorial(n) - logFactorial(k) - logFactorial(n - k) - n * Math.LN2);
  let sum = 0;
  for (let i = k; i <= n && term > sum * Number.EPSILON; i++) {
    sum += term;
    term *= (n - i) / (i + 1);
  }
  return sum;
}
