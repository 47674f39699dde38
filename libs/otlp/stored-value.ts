import type { OtlpAttributes, OtlpValue } from './otlp.types';

/** How many arrays and key-value lists may stand inside one another in a value. */
export const MAX_VALUE_DEPTH = 64;

const REPLACEMENT = '\ufffd';

/** The text with every NUL character replaced by U+FFFD. */
export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', REPLACEMENT) : text;
}

/** The text as PostgreSQL can store it: NUL characters and lone surrogates replaced by U+FFFD. */
export function storableText(text: string): string {
  return withoutNul(text.replace(/\p{Surrogate}/gu, REPLACEMENT));
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
