/** Longest part of a refused number that an error message repeats, in characters. */
const SHOWN_DIGITS = 40;

/**
 * Returns why a JSON number cannot be stored as a double, or undefined if it can.
 *
 * A decimal fraction that rounds to the nearest double is accepted, as every JSON parser does with 0.1. Refused are a
 * magnitude beyond the largest double, a nonzero number that would become zero, and an integer without exponent that would
 * become another integer (the last digits of identifiers and nanosecond times matter).
 *
 * @param literal a number by the grammar of RFC 8259
 */
export function numberFault(literal: string): string | undefined {
  const value = Number(literal);
  if (!Number.isFinite(value)) {
    return `The number ${shown(literal)} is too large. Send a number of magnitude below 1.8e308, or a string.`;
  }
  if (value === 0) {
    const digits = literal.search(/[eE]|$/);
    return /[1-9]/.test(literal.slice(0, digits))
      ? `The number ${shown(literal)} is too close to zero and would become 0. Send 0 or a string.`
      : undefined;
  }
  if (Number.isSafeInteger(value) || /[.eE]/.test(literal) || BigInt(literal) === BigInt(value)) {
    return undefined;
  }
  return (
    `The integer ${shown(literal)} cannot be held exactly and would become ${BigInt(value)}. ` +
    'Send an integer that a 64-bit floating point number can hold, or a string.'
  );
}

function shown(literal: string): string {
  return literal.length <= SHOWN_DIGITS ? literal : `${literal.slice(0, SHOWN_DIGITS)}…`;
}
