import { JsonCursor, pointerToken } from '#platform/json';
import { UntranslatableError } from '../formats/request-members';

/** The JSON texts of new values, by the name of a top-level member. */
export type Replacements = Readonly<Record<string, string>>;

/**
 * Replaces or adds members of a JSON object, and keeps every other byte, including unknown members, the form of numbers and the
 * order of members.
 *
 * @param text the valid JSON text of an object
 * @param replacements the JSON texts of the new values, by name
 * @throws UntranslatableError for a member that appears twice, in any case, because servers differ in which one they read
 */
export function splice(text: string, replacements: Replacements): string {
  const missing = new Set(Object.keys(replacements));
  const names = new Set<string>();
  let result = '';
  let copied = 0;
  let last = text.indexOf('{') + 1;
  for (const { name, start, end } of members(text)) {
    last = end;
    const folded = foldedName(name);
    if (names.has(folded))
      throw new UntranslatableError(`/${pointerToken(name)}`, 'appears more than once. Send it once.');
    names.add(folded);
    if (!Object.hasOwn(replacements, name)) continue;
    missing.delete(name);
    result += text.slice(copied, start) + replacements[name]!;
    copied = end;
  }
  result += text.slice(copied, last);
  const isEmpty = text.indexOf('{') + 1 === last;
  const added = [...missing].map((name) => `${JSON.stringify(name)}:${replacements[name]!}`).join(',');
  if (added !== '') result += `${isEmpty ? '' : ','}${added}`;
  return result + text.slice(last);
}

/** Returns a name as servers see it that compare names without case. Two letters outside of ASCII, ſ and K, become s and k. */
export const foldedName = (name: string): string => name.toUpperCase().toLowerCase();

interface Member {
  name: string;
  /** The start and the end of its value. */
  start: number;
  end: number;
}

/** Yields the top-level members of an object. Throws `JsonInputError` for a text that is not a JSON object. */
export function* members(text: string): Generator<Member, void> {
  const cursor = new JsonCursor(text);
  cursor.skipWhitespace();
  if (!cursor.accept('{')) throw cursor.syntaxError('an object');
  cursor.skipWhitespace();
  if (cursor.accept('}')) return;
  do {
    const name = cursor.name(false);
    cursor.skipWhitespace();
    const start = cursor.at;
    cursor.skipValue();
    yield { name, start, end: cursor.at };
    cursor.skipWhitespace();
  } while (cursor.accept(','));
  if (!cursor.accept('}')) throw cursor.syntaxError('"," or "}"');
}
