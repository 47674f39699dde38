import type { OtlpAttributes, OtlpValue } from './otlp.types';

/** How many arrays and key-value lists may stand inside one another in a value. */
export const MAX_VALUE_DEPTH = 64;

/**
 * The text with every NUL character replaced by U+FFFD. Not by String.replaceAll: a text of nothing but NUL characters
 * would take it half a microsecond for each.
 */
export function withoutNul(text: string): string {
  if (!text.includes('\0')) {
    return text;
  }
  const units = Buffer.from(text, 'utf16le');
  for (let low = 0; low < units.length; low += 2) {
    if (units[low] === 0 && units[low + 1] === 0) {
      units.writeUInt16LE(0xfffd, low);
    }
  }
  return units.toString('utf16le');
}

const SURROGATE = /[\ud800-\udfff]/;

/** The text as PostgreSQL can store it: NUL characters and lone surrogates replaced by U+FFFD. */
export function storableText(text: string): string {
  // UTF-8 has no lone surrogates: Node writes U+FFFD for them.
  return withoutNul(SURROGATE.test(text) ? Buffer.from(text, 'utf8').toString('utf8') : text);
}

/** Sets a member of any name: a plain assignment to `__proto__` would change the prototype and lose the value. */
export function setMember(target: OtlpAttributes, key: string, value: OtlpValue): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

/** The number, or the string by which the JSON mapping of protobuf writes NaN and the infinities. */
export function storableDouble(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

/** A 64-bit integer by its two halves, the upper one signed or not: a number while that is exact, else its decimal text. */
export function storableInteger(high: number, low: number): number | string {
  const value = high * 2 ** 32 + (low >>> 0);
  return Number.isSafeInteger(value) ? value : ((BigInt(high) << 32n) | BigInt(low >>> 0)).toString();
}
