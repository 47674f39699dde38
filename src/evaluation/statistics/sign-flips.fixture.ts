import { sumOf } from './numeric';
import { signFlipTest } from './permutation';
import { seedOf, Xoshiro128 } from './random';
import { signFlipTail } from './saddlepoint';

/** A name, how its p-value is computed, and the differences. */
export type Differences = [string, 'drawn' | 'approximated', (random: Xoshiro128) => Float64Array];

/** Estimates P(|S| >= |sum of differences|) from 100,000 random sums S. The standard error at 0.05 is 0.0007. */
function bruteForce(differences: Float64Array, random: Xoshiro128): number {
  const words = new Int32Array(Math.ceil(differences.length / 32));
  const bound = Math.abs(sumOf(differences)) - 1e-9;
  let asFar = 0;
  for (let draw = 0; draw < 100_000; draw++) {
    random.fill(words, words.length);
    let sum = 0;
    for (let i = 0; i < differences.length; i++) {
      sum += (words[i >> 5]! >>> (i & 31)) & 1 ? differences[i]! : -differences[i]!;
    }
    if (Math.abs(sum) >= bound) asFar++;
  }
  return asFar / 100_000;
}

export const bell = (random: Xoshiro128): number => {
  let sum = -6;
  for (let i = 0; i < 12; i++) sum += random.uniform();
  return sum;
};
/** Returns values of these sizes. The first `positive` values are positive, and the others negative. */
export const signed = (count: number, positive: number, size: (i: number) => number): Float64Array =>
  Float64Array.from({ length: count }, (_, i) => (i < positive ? size(i) : -size(i)));

/** Expects p-values like those of 100,000 random choices of signs. */
export function expectLikeRandomSigns([, way, make]: Differences): void {
  const random = new Xoshiro128(seedOf('differences'));
  const differences = make(random);
  const truth = bruteForce(differences, random);
  expect(truth).toBeGreaterThan(0.01);
  expect(truth).toBeLessThan(0.3);
  const tail = signFlipTail(differences, Math.abs(sumOf(differences)), 1e-6);
  expect(tail === null ? 'drawn' : 'approximated').toBe(way);
  if (tail !== null) expect(Math.abs(2 * tail - truth)).toBeLessThan(0.003);
  expect(Math.abs(signFlipTest(differences, seedOf('a test')) - truth)).toBeLessThan(0.006);
}
