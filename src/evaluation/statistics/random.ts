import { createHash } from 'node:crypto';
import { logFactorial } from './numeric';

const { abs, exp, floor, imul, log, log1p, sqrt } = Math;

/** Words generated per batch. */
const BATCH = 1_024;
const TWO_32 = 2 ** 32;
/** Below this expected number of successes, a binomial draw by inversion is faster than one by rejection. */
const REJECTION_FROM = 10;

/** The state of a generator: four words, not all of them zero. */
export type Seed = readonly [number, number, number, number];

/** Derives a seed from texts: the first 128 bits of the SHA-256 of their JSON. Equal texts give equal numbers. */
export function seedOf(...texts: string[]): Seed {
  const digest = createHash('sha256').update(JSON.stringify(texts)).digest();
  return [0, 4, 8, 12].map((at) => digest.readInt32LE(at)) as unknown as Seed;
}

/**
 * The generator xoshiro128** 1.1 (D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators", ACM
 * Transactions on Mathematical Software 47(4), 2021). It generates words in batches, which is several times faster in
 * JavaScript than one call per word.
 */
export class Xoshiro128 {
  private readonly state: Int32Array;
  private readonly batch = new Int32Array(BATCH);
  private next = BATCH;

  constructor(seed: Seed) {
    this.state = Int32Array.from(seed);
    if (this.state.every((word) => word === 0)) throw new Error('A seed of zeros yields only zeros.');
  }

  /** Returns the next 32 bits, as a signed integer. */
  word(): number {
    if (this.next === BATCH) {
      this.fill(this.batch, BATCH);
      this.next = 0;
    }
    return this.batch[this.next++]!;
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive), of 53 random bits. */
  uniform(): number {
    const high = this.word() >>> 5;
    const low = this.word() >>> 6;
    return (high * 67_108_864 + low) / 9_007_199_254_740_992;
  }

  /** Returns an integer from 0 to `bound` - 1, uniform up to one part in 2^32 / `bound`. */
  below(bound: number): number {
    return floor(((this.word() >>> 0) * bound) / TWO_32);
  }

  /** Writes the next `count` words to `target`. Skips the words already batched for `word()`. */
  fill(target: Int32Array, count: number): void {
    const { state } = this;
    let a = state[0]!;
    let b = state[1]!;
    let c = state[2]!;
    let d = state[3]!;
    for (let i = 0; i < count; i++) {
      const product = imul(b, 5);
      target[i] = imul((product << 7) | (product >>> 25), 9);
      const shifted = b << 9;
      c ^= a;
      d ^= b;
      b ^= c;
      a ^= d;
      c ^= shifted;
      d = (d << 11) | (d >>> 21);
    }
    state[0] = a;
    state[1] = b;
    state[2] = c;
    state[3] = d;
  }
}

/** Draws the number of successes in `n` trials, each with probability `p`, from the exact binomial distribution. */
export function drawBinomial(random: Xoshiro128, n: number, p: number): number {
  if (n === 0 || p <= 0) return 0;
  if (p >= 1) return n;
  if (p > 0.5) return n - drawBinomial(random, n, 1 - p);
  return n * p < REJECTION_FROM ? drawByInversion(random, n, p) : drawByRejection(random, n, p);
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
