import { isObject, type JsonObject } from './json-shape';

/** A text that may be blank, before the request is parsed. */
const BLANK = /"(?:text|content)"\s*:\s*"(?:\s|\\[fnrt]|\\u[\da-f]{4})*"/i;

/**
 * Returns the members of a request in Anthropic's format that change when its blank texts are left out, as JSON texts by name.
 * Anthropic rejects blank texts. Messages without other content are left out too.
 */
export function withoutBlankTexts(text: string): Record<string, string> {
  if (!BLANK.test(text)) return {};
  const { system, messages } = JSON.parse(text) as JsonObject;
  const changed: Record<string, string> = {};
  for (const [name, values] of Object.entries({ system, messages })) {
    if (!Array.isArray(values)) continue;
    const rest = JSON.stringify(values.flatMap(withoutBlanks));
    if (rest !== JSON.stringify(values)) changed[name] = rest;
  }
  return changed;
}

/** Returns a message or a block without its blank texts, or nothing if it has no other content. */
function withoutBlanks(value: unknown): unknown[] {
  if (!isObject(value)) return [value];
  const { type, text, content } = value;
  if (type === 'text' && isBlank(text)) return [];
  if ('role' in value && isBlank(content)) return [];
  if (!Array.isArray(content)) return [value];
  const rest = content.flatMap(withoutBlanks);
  return 'role' in value && content.length > 0 && rest.length === 0 ? [] : [{ ...value, content: rest }];
}

const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';
