/** Longest part of a rejected number that an error message repeats, in characters. */
const SHOWN_DIGITS = 40;
/** A number of at most this length without an exponent is within the range of a double. */
const FINITE_LENGTH = 300;

/**
 * Returns the reason why a typed member cannot store a JSON number as a double, or undefined if it can.
 *
 * Accepts a decimal fraction that rounds to the nearest double, as every JSON parser does with 0.1. Rejects a magnitude
 * beyond the largest double, a nonzero number that would become zero, and an integer without exponent that would become
 * another integer (the last digits of identifiers and nanosecond times matter).
 *
 * @param literal a number by the grammar of RFC 8259
 */
export function numberFault(literal: string): string | undefined {
  const value = Number(literal);
  if (!Number.isFinite(value)) return tooLarge(literal);
  if (value === 0) {
    const digits = literal.search(/[eE]|$/);
    return /[1-9]/.test(literal.slice(0, digits))
      ? `The number ${excerpt(literal)} is too close to zero and would become 0. Send 0 or a string.`
      : undefined;
  }
  if (Number.isSafeInteger(value) || /[.eE]/.test(literal) || BigInt(literal) === BigInt(value)) {
    return undefined;
  }
  return (
    `The integer ${excerpt(literal)} cannot be represented exactly and would become ${BigInt(value)}. ` +
    'Send an integer that a 64-bit floating-point number can represent, or a string.'
  );
}

/** Returns the reason why a free-form member, which keeps all digits, cannot store a JSON number; undefined if it can. */
export function freeFormNumberFault(literal: string): string | undefined {
  const isFinite =
    (literal.length <= FINITE_LENGTH && !/[eE]/.test(literal)) || Number.isFinite(Number(literal));
  return isFinite ? undefined : tooLarge(literal);
}

/** Tells whether ECMAScript would write an integer with different digits, such as 1152921504606847000 for 2^60. */
export const hasOtherDigits = (value: number): boolean =>
  !Number.isSafeInteger(value) && Number.isInteger(value) && Math.abs(value) < 1e21;

/** Tells whether a JSON number that was parsed as a double is written with the same characters again. */
export function isKeptByDouble(literal: string, value = Number(literal)): boolean {
  return (hasOtherDigits(value) ? BigInt(value).toString() : String(value)) === literal;
}

/**
 * Returns a JSON number in the one form of its value: as ECMAScript writes a number of exactly these decimal digits
 * (Number::toString). This is the form of RFC 8785, except that no digit is lost: different values have different forms.
 */
export function canonicalNumber(literal: string): string {
  const [, sign, integer, fraction = '', exponent = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(literal)!;
  const leading = `${integer!}${fraction}`.replace(/^0+/, '');
  const digits = leading.replace(/0+$/, '');
  if (digits === '') return '0';
  /** The place of the decimal point, counted from the first of the digits. */
  const point = BigInt(exponent) + BigInt(leading.length - fraction.length);
  return sign! + format(digits, point);
}

function format(digits: string, point: bigint): string {
  const count = digits.length;
  if (point > 0n && point <= 21n) {
    const at = Number(point);
    return count <= at ? digits.padEnd(at, '0') : `${digits.slice(0, at)}.${digits.slice(at)}`;
  }
  if (point > -6n && point <= 0n) return `0.${'0'.repeat(Number(-point))}${digits}`;
  const power = point - 1n;
  const mantissa = count === 1 ? digits : `${digits[0]}.${digits.slice(1)}`;
  return `${mantissa}e${power < 0n ? '-' : '+'}${power < 0n ? -power : power}`;
}

const tooLarge = (literal: string): string =>
  `The number ${excerpt(literal)} is too large. Send a number of magnitude below 1.8e308, or a string.`;

function excerpt(literal: string): string {
  return literal.length <= SHOWN_DIGITS ? literal : `${literal.slice(0, SHOWN_DIGITS)}…`;
}
