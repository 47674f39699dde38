import { longDigits } from './exact-json';
import { storableDouble } from './stored-value';

/** The least and the greatest of a kind of integer. */
export type IntegerRange = readonly [least: bigint, greatest: bigint];

export const UINT64: IntegerRange = [0n, 0xffff_ffff_ffff_ffffn];
export const INT64: IntegerRange = [-0x8000_0000_0000_0000n, 0x7fff_ffff_ffff_ffffn];

const INTEGER = /^-?\d{1,20}$/;
/** Digits of the longest double, written out, and some more; V8 looks through longer texts with a stack, which ends. */
const DECIMAL_LENGTH_MAX = 2_000;
const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const DOUBLE_NAMES = new Set(['NaN', 'Infinity', '-Infinity']);

/** Digits of an integer of 64 bits, from a string or of what stands for a number that is too long for one. */
function digitsOf(value: unknown): string | undefined {
  const text = longDigits(value) ?? value;
  return typeof text === 'string' && INTEGER.test(text) ? text : undefined;
}

/** An integer that a double holds exactly, from a string or a number; undefined for anything else. */
export function smallInteger(value: unknown, least: number, greatest: number): number | undefined {
  const number = typeof value === 'number' ? value : Number(digitsOf(value) ?? NaN);
  return Number.isInteger(number) && number >= least && number <= greatest ? number + 0 : undefined;
}

/**
 * A 64-bit integer from a string or a number; undefined for anything else. A number that was written with a fraction or an
 * exponent is what a double holds of it.
 */
export function largeInteger(value: unknown, [least, greatest]: IntegerRange): bigint | undefined {
  const exact = typeof value === 'number' && Number.isInteger(value) ? value : digitsOf(value);
  if (exact === undefined) return undefined;
  const integer = BigInt(exact);
  return integer >= least && integer <= greatest ? integer : undefined;
}

/** The same as a number while that is exact, else as its decimal text. */
export function storableInteger(value: unknown, range: IntegerRange): number | string | undefined {
  // Nearly every integer is exact as a number, and that is much quicker than a bigint.
  const least = range === UINT64 ? 0 : Number.MIN_SAFE_INTEGER;
  return smallInteger(value, least, Number.MAX_SAFE_INTEGER) ?? largeInteger(value, range)?.toString();
}

/** A double from a number, from the text of one, or from the names of NaN and the infinities. */
export function doubleOf(value: unknown): number | string | undefined {
  if (typeof value === 'number') {
    return storableDouble(value);
  }
  const text = longDigits(value) ?? value;
  if (typeof text !== 'string' || text.length > DECIMAL_LENGTH_MAX) return undefined;
  return DECIMAL.test(text) || DOUBLE_NAMES.has(text) ? storableDouble(Number(text)) : undefined;
}
