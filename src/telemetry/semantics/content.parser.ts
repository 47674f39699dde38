import {
  longDigits,
  MAX_VALUE_DEPTH,
  type OtlpAttributes,
  type OtlpValue,
  parseExactly,
  setMember,
  storableText,
} from '#otlp';

/** Characters of a text whose integers are read exactly: of many long ones that takes ten times as long. */
const EXACT_MAX = 1024 * 1024;

/**
 * The value of a message attribute. Where a text is JSON it is parsed: instrumentations that cannot send structured
 * attributes send their JSON (gen_ai.input.messages: "MAY be recorded as a JSON string").
 *
 * @param mimeType what the span says the text is; where it says nothing, only objects and lists are taken for JSON
 * @returns null for what says nothing (absent, or an empty text). A text that is cut off, or nested deeper than 64
 *   levels, stays the text that it is. An integer beyond 2^53 is its decimal text, as in attributes, but in texts of more than a MiB.
 *   There it is what a double holds.
 */
export function contentOf(value: OtlpValue | undefined, mimeType?: OtlpValue): OtlpValue {
  if (typeof value !== 'string') {
    return value ?? null;
  }
  if (value === '') {
    return null;
  }
  const isJson = typeof mimeType === 'string' ? /[/+]json\b/i.test(mimeType) : /^\s*[[{]/.test(value);
  return isJson ? parsed(value) : value;
}

function parsed(text: string): OtlpValue {
  let value: OtlpValue;
  try {
    value = (text.length > EXACT_MAX ? JSON.parse(text) : parseExactly(text)) as OtlpValue;
  } catch {
    return text;
  }
  const stored = storable(value, 0);
  return stored === undefined ? text : stored;
}

/** A copy that PostgreSQL can store (JSON can escape what text cannot hold); undefined when it is nested too deeply. */
function storable(value: OtlpValue, depth: number): OtlpValue | undefined {
  if (typeof value === 'string') {
    return storableText(value);
  }
  if (typeof value === 'number') {
    return Number.isFinite(value) ? value : String(value);
  }
  if (value === null || typeof value !== 'object') {
    return value;
  }
  const digits = longDigits(value);
  if (digits !== undefined) {
    return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits;
  }
  if (depth === MAX_VALUE_DEPTH) {
    return undefined;
  }
  if (Array.isArray(value)) {
    return storableList(value, depth + 1);
  }
  const copy: OtlpAttributes = {};
  for (const [key, member] of Object.entries(value)) {
    const stored = storable(member, depth + 1);
    if (stored === undefined) {
      return undefined;
    }
    setMember(copy, storableText(key), stored);
  }
  return copy;
}

function storableList(items: readonly OtlpValue[], depth: number): OtlpValue[] | undefined {
  const copy: OtlpValue[] = [];
  for (const item of items) {
    const stored = storable(item, depth);
    if (stored === undefined) {
      return undefined;
    }
    copy.push(stored);
  }
  return copy;
}
