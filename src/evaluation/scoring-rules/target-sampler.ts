import { createHash } from 'node:crypto';

/** Hexadecimal digits that are looked at: 52 bits, which a double holds exactly. */
const DIGITS = 13;
const ALL = 16 ** DIGITS;

/**
 * Where a trace or session stands in [0, 1): the first 52 bits of the SHA-256 of its id (UTF-8), as a fraction. Of
 * nothing but the id, so that it stands there for every rule, in every process, at any time.
 */
export const sampleFraction = (targetId: string): number =>
  parseInt(createHash('sha256').update(targetId).digest('hex').slice(0, DIGITS), 16) / ALL;

/** Whether a sample of this rate has it: none at 0, all at 1, and a higher rate has all that a lower one has. */
export const isSampled = (targetId: string, rate: number): boolean => sampleFraction(targetId) < rate;
