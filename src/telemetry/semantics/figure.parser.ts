import type { OtlpValue } from '#otlp';

/** No model reads or writes so many tokens in a span: such a count is a mistake, and one of them spoils every sum. */
const MAX_TOKENS = 1e9;
const MAX_DOLLARS = 1e6;

/** A name or an id: text that is not empty, or a number written out. */
export function textOf(value: OtlpValue | undefined): string | null {
  if (typeof value === 'number') {
    return String(value);
  }
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A whole number of tokens, from 0 to 10^9. */
export function tokensOf(value: OtlpValue | undefined): number | null {
  const number = numberOf(value);
  return Number.isInteger(number) && number >= 0 && number <= MAX_TOKENS ? number : null;
}

/** An amount from 0 to 10^6. */
export function dollarsOf(value: OtlpValue | undefined): number | null {
  const number = numberOf(value);
  return number >= 0 && number <= MAX_DOLLARS ? number : null;
}

/** The number, also of its text, as some instrumentations send it; NaN when it is none. */
function numberOf(value: OtlpValue | undefined): number {
  if (typeof value === 'number') {
    return value;
  }
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
}
