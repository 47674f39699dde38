import {
  hasMoreElements,
  longDigits,
  MAX_VALUE_DEPTH,
  type OtlpAttributes,
  type OtlpValue,
  parseExactly,
  setMember,
  storableText,
} from '#otlp';

/** Maximum number of objects, lists and commas in a JSON text to parse. A text of a few MiB could contain a million. */
const ELEMENTS_MAX = 65_536;

/** Maximum length of texts whose long integers are parsed exactly, which may take ten times as long. */
const EXACT_MAX = 1024 * 1024;

/**
 * Reads the value of a message attribute. Parses JSON texts, because instrumentations that cannot send structured attributes
 * send JSON (gen_ai.input.messages: "MAY be recorded as a JSON string").
 *
 * @param mimeType the media type that the span names; without it, only objects and lists are parsed as JSON
 * @returns null for an absent value or an empty text. A text stays a text if it is invalid JSON, is nested deeper than 64
 *   levels, or has more than 65,536 objects, lists and commas. An integer beyond 2^53 becomes its decimal text, as in
 *   attributes; in texts over a MiB, it is rounded to a double.
 */
export function contentOf(value: OtlpValue | undefined, mimeType?: OtlpValue): OtlpValue {
  if (typeof value !== 'string') return value ?? null;
  if (value === '') return null;
  const isJson = typeof mimeType === 'string' ? /[/+]json\b/i.test(mimeType) : /^\s*[[{]/.test(value);
  if (!isJson) return value;
  const isTooLarge = value.length > ELEMENTS_MAX && hasMoreElements(Buffer.from(value), ELEMENTS_MAX);
  return isTooLarge ? value : parseJson(value);
}

/**
 * Reads a message attribute like {@link contentOf}, and adds `gen_ai.system_instructions` before the messages as a system
 * message. Up to version 1.36, instructions were the first message, so readers of a trace see the same for both.
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

function parseJson(text: string): OtlpValue {
  let value: OtlpValue;
  try {
    value = (text.length > EXACT_MAX ? JSON.parse(text) : parseExactly(text)) as OtlpValue;
  } catch {
    return text;
  }
  const stored = toStorable(value, 0);
  return stored === undefined ? text : stored;
}

/** Copies a value, replacing characters that PostgreSQL cannot store. Returns undefined if the value is nested too deeply. */
function toStorable(value: OtlpValue, depth: number): OtlpValue | undefined {
  if (typeof value === 'string') return storableText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === null || typeof value !== 'object') return value;
  const digits = longDigits(value);
  if (digits !== undefined) return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits;
  if (depth === MAX_VALUE_DEPTH) return undefined;
  if (Array.isArray(value)) return toStorableList(value, depth + 1);
  const copy: OtlpAttributes = {};
  for (const [key, member] of Object.entries(value)) {
    const stored = toStorable(member, depth + 1);
    if (stored === undefined) return undefined;
    setMember(copy, storableText(key), stored);
  }
  return copy;
}

function toStorableList(items: readonly OtlpValue[], depth: number): OtlpValue[] | undefined {
  const copy: OtlpValue[] = [];
  for (const item of items) {
    const stored = toStorable(item, depth);
    if (stored === undefined) return undefined;
    copy.push(stored);
  }
  return copy;
}
