import { createHash } from 'node:crypto';

/** Words made ahead. */
const AHEAD = 1_024;
const TWO_32 = 2 ** 32;
/** Taken once: where code runs in a context of its own, as under a test runner, each look at a global is a call. */
const { imul } = Math;

/** The state of a generator: four words, not all zero. */
export type Seed = readonly [number, number, number, number];

/** A seed made of texts: the first 128 bits of the SHA-256 of their JSON. The same texts give the same numbers. */
export function seedOf(...texts: string[]): Seed {
  const digest = createHash('sha256').update(JSON.stringify(texts)).digest();
  return [0, 4, 8, 12].map((at) => digest.readInt32LE(at)) as unknown as Seed;
}

/**
 * The generator xoshiro128** 1.1 (D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators", ACM
 * Transactions on Mathematical Software 47(4), 2021). Words are made many at a time, which JavaScript does several
 * times faster than one call for each.
 */
export class Xoshiro128 {
  private readonly state: Int32Array;
  private readonly ahead = new Int32Array(AHEAD);
  private next = AHEAD;

  constructor(seed: Seed) {
    this.state = Int32Array.from(seed);
    if (this.state.every((word) => word === 0)) throw new Error('A seed of zeros gives nothing but zeros.');
  }

  /** The next 32 bits, as a signed integer. */
  word(): number {
    if (this.next === AHEAD) {
      this.fill(this.ahead, AHEAD);
      this.next = 0;
    }
    return this.ahead[this.next++]!;
  }

  /** A number from 0 (inclusive) to 1 (exclusive), of 53 random bits. */
  uniform(): number {
    const high = this.word() >>> 5;
    const low = this.word() >>> 6;
    return (high * 67_108_864 + low) / 9_007_199_254_740_992;
  }

  /** An integer from 0 to `bound` - 1; each as likely as the others but for one part in 2^32 / `bound`. */
  below(bound: number): number {
    return Math.floor(((this.word() >>> 0) * bound) / TWO_32);
  }

  /** Puts the next `count` words into `target`; those made ahead for `word()` are not among them. */
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
