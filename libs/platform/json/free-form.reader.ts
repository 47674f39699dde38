import { isNumber, type JsonCursor } from './json.cursor';
import { freeFormNumberFault, isKeptByDouble } from './number.rule';

/** Creates the value for JSON text that is kept verbatim: a `RawJson`. Passed in, because importing it would be a cycle. */
export type Keep = (text: string) => unknown;

/**
 * Reads a free-form value as text: without whitespace and needless escapes, but with all digits and NUL characters and the
 * order of members. Returns a scalar itself if JavaScript preserves it. Throws a `JsonInputError`.
 */
export function readFreeForm(cursor: JsonCursor, keep: Keep): unknown {
  switch (cursor.text[cursor.at]) {
    case '{':
    case '[':
      return keep(textOf(cursor));
    case '"':
      return JSON.parse(textOf(cursor));
    default: {
      const text = textOf(cursor);
      return isNumber(text) && !isKeptByDouble(text) ? keep(text) : JSON.parse(text);
    }
  }
}

/** Throws for a number that is not finite as a double. */
export function checkNumber(cursor: JsonCursor, literal: string): void {
  const fault = freeFormNumberFault(literal);
  if (fault !== undefined) throw cursor.rejection(fault);
}

function textOf(cursor: JsonCursor): string {
  switch (cursor.text[cursor.at]) {
    case '{':
      return textOfObject(cursor);
    case '[':
      return textOfList(cursor);
    case '"': {
      const string = cursor.string();
      cursor.checkCharacters(string, 'string', true);
      return string.text;
    }
    default: {
      const text = cursor.primitive();
      if (isNumber(text)) checkNumber(cursor, text);
      return text;
    }
  }
}

function textOfObject(cursor: JsonCursor): string {
  cursor.checkDepth();
  cursor.at++;
  // as with JSON.parse, the last of several members with the same name counts, at the place of the first
  const members = new Map<string, string>();
  cursor.skipWhitespace();
  if (cursor.accept('}')) return '{}';
  do {
    const name = cursor.name(members.size === 0);
    cursor.checkCharacters(name, 'member name', true);
    members.set(name.text, textOfChild(cursor, name.value));
  } while (cursor.accept(','));
  if (!cursor.accept('}')) throw cursor.syntaxError('"," or "}"');
  let object = '';
  for (const [name, value] of members) object += `${object === '' ? '{' : ','}${name}:${value}`;
  return `${object}}`;
}

function textOfList(cursor: JsonCursor): string {
  cursor.checkDepth();
  cursor.at++;
  cursor.skipWhitespace();
  if (cursor.accept(']')) return '[]';
  let list = '';
  let index = 0;
  do {
    list += (index === 0 ? '[' : ',') + textOfChild(cursor, index);
    index++;
  } while (cursor.accept(','));
  if (!cursor.accept(']')) throw cursor.syntaxError('"," or "]"');
  return `${list}]`;
}

function textOfChild(cursor: JsonCursor, step: string | number): string {
  cursor.path.push(step);
  cursor.skipWhitespace();
  const text = textOf(cursor);
  cursor.skipWhitespace();
  cursor.path.pop();
  return text;
}
