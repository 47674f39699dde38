import {
  longDigits,
  MAX_VALUE_DEPTH,
  type OtlpAttributes,
  type OtlpValue,
  parseExactly,
  setMember,
  storableText,
} from '#otlp';

/** Objects, lists and commas of a JSON text that is parsed. A text of a few MiB could hold a million. */
const ELEMENTS_MAX = 65_536;

/** Maximum length of texts whose integers are parsed exactly, which may take ten times as long. */
const EXACT_MAX = 1024 * 1024;

/**
 * Reads the value of a message attribute. JSON texts are parsed, because instrumentations that cannot send structured
 * attributes send JSON (gen_ai.input.messages: "MAY be recorded as a JSON string").
 *
 * @param mimeType the media type that the span names; without one, only objects and lists are read as JSON
 * @returns null for an absent value or an empty text. Invalid JSON, and JSON nested deeper than 64 levels or with more than
 *   65,536 objects, lists and commas, stays a text. An integer beyond 2^53 becomes its decimal text, as in attributes; in texts over a MiB it is rounded to a double.
 */
export function contentOf(value: OtlpValue | undefined, mimeType?: OtlpValue): OtlpValue {
  if (typeof value !== 'string') return value ?? null;
  if (value === '') return null;
  const isJson = typeof mimeType === 'string' ? /[/+]json\b/i.test(mimeType) : /^\s*[[{]/.test(value);
  return isJson && !isTooLarge(value) ? parsed(value) : value;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;

/** Counts the elements of a JSON text without parsing it. */
function isTooLarge(text: string): boolean {
  if (text.length <= ELEMENTS_MAX) return false;
  let elements = 0;
  let isText = false;
  for (let at = 0; at < text.length && elements <= ELEMENTS_MAX; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) isText = !isText;
    else if (isText) at += unit === BACKSLASH ? 1 : 0;
    else if (unit === COMMA || unit === BRACKET || unit === BRACE) elements++;
  }
  return elements > ELEMENTS_MAX;
}

/**
 * Reads a message attribute like {@link contentOf}, and puts `gen_ai.system_instructions` before the messages as a system
 * message. Up to version 1.36 instructions were the first message, so readers of a trace see the same for both.
 */
export function instructedContentOf(
  value: OtlpValue | undefined,
  mimeType?: OtlpValue,
  instructions?: OtlpValue,
): OtlpValue {
  const content = contentOf(value, mimeType);
  const system = contentOf(instructions);
  if (system === null || !Array.isArray(content)) return content;
  const parts = Array.isArray(system) ? system : [{ type: 'text', content: system }];
  return [{ role: 'system', parts }, ...content];
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

/** Copies a value, replacing characters that PostgreSQL cannot store. Returns undefined if it is nested too deeply. */
function storable(value: OtlpValue, depth: number): OtlpValue | undefined {
  if (typeof value === 'string') return storableText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === null || typeof value !== 'object') return value;
  const digits = longDigits(value);
  if (digits !== undefined) return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits;
  if (depth === MAX_VALUE_DEPTH) return undefined;
  if (Array.isArray(value)) return storableList(value, depth + 1);
  const copy: OtlpAttributes = {};
  for (const [key, member] of Object.entries(value)) {
    const stored = storable(member, depth + 1);
    if (stored === undefined) return undefined;
    setMember(copy, storableText(key), stored);
  }
  return copy;
}

function storableList(items: readonly OtlpValue[], depth: number): OtlpValue[] | undefined {
  const copy: OtlpValue[] = [];
  for (const item of items) {
    const stored = storable(item, depth);
    if (stored === undefined) return undefined;
    copy.push(stored);
  }
  return copy;
}
