import type { OtlpAttributes, OtlpValue } from './otlp.types';

/** Maximum nesting of arrays and key-value lists in a value. */
export const MAX_VALUE_DEPTH = 64;

/**
 * Returns the text with NUL characters replaced by U+FFFD. Avoids String.replaceAll, which takes half a microsecond per NUL
 * character.
 */
export function withoutNul(text: string): string {
  if (!text.includes('\0')) return text;
  const units = Buffer.from(text, 'utf16le');
  for (let low = 0; low < units.length; low += 2) {
    if (units[low] === 0 && units[low + 1] === 0) {
      units.writeUInt16LE(0xfffd, low);
    }
  }
  return units.toString('utf16le');
}

const SURROGATE = /[\ud800-\udfff]/;

/** Returns the text in a form that PostgreSQL can store: NUL characters and lone surrogates replaced by U+FFFD. */
export function storableText(text: string): string {
  // UTF-8 has no lone surrogates: Node writes U+FFFD for them.
  return withoutNul(SURROGATE.test(text) ? Buffer.from(text, 'utf8').toString('utf8') : text);
}

/** Sets a member of any name. A plain assignment to `__proto__` would change the prototype and lose the value. */
export function setMember(target: OtlpAttributes, key: string, value: OtlpValue): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

/** Returns the number, or the name of NaN and the infinities in the JSON mapping of protobuf. */
export function storableDouble(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

/** Joins the halves of a 64-bit integer, the upper one signed or not: a number if exact, else its decimal text. */
export function storableInteger(high: number, low: number): number | string {
  const value = high * 2 ** 32 + (low >>> 0);
  return Number.isSafeInteger(value) ? value : ((BigInt(high) << 32n) | BigInt(low >>> 0)).toString();
}

/** Replaces an id that has the wrong length or is not hexadecimal. */
export const MALFORMED_ID = 'malformed';

/** Lengths of ids in bytes. */
export const TRACE_ID_BYTES = 16;
export const SPAN_ID_BYTES = 8;

const NO_TRACE_ID = '00'.repeat(TRACE_ID_BYTES);
const NO_SPAN_ID = '00'.repeat(SPAN_ID_BYTES);

/**
 * Normalizes an id from a reader: empty, hexadecimal digits of the right length, or {@link MALFORMED_ID}. Returns null for
 * an empty, malformed or all-zero id (W3C Trace Context, section 3.2.2).
 */
export function normalizeId(id: string | null): string | null {
  return id === '' || id === MALFORMED_ID || id === NO_TRACE_ID || id === NO_SPAN_ID ? null : id;
}

/** Normalizes the ids of an object that may belong to no trace or span. Returns the object. */
export function normalizeIds<T extends { traceId: string | null; spanId: string | null }>(object: T): T {
  object.traceId = normalizeId(object.traceId);
  object.spanId = normalizeId(object.spanId);
  return object;
}
