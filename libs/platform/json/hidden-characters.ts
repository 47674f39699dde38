import { isJsonObject } from './raw-json';
import { pointerOf } from './json-pointer';

/**
 * Characters that a reader does not see but a model reads: zero-width and bidirectional controls, variation selectors, tag
 * characters (U+E0000 to U+E007F), control characters other than tab and line ends, and the blank Braille pattern. A
 * carriage return without a line feed is hidden, because a terminal then writes over the line.
 */
const HIDDEN = /(?![\t\n]|\r\n)[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Zl}\p{Zp}\u2800]/gu;

const hexOf = (character: string): string =>
  character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');

/** Returns a text with its hidden characters as escapes, such as `\u{200B}`. */
export const escapeHidden = (text: string): string =>
  text.replace(HIDDEN, (character) => `\\u{${hexOf(character)}}`);

const CODE_POINTS_MAX = 100;
const POINTERS_MAX = 20;

/** The hidden characters of a JSON value. */
export interface HiddenCharacters {
  /** Such as `U+200B`. At most 100 different ones, in the order of their first occurrence. */
  code_points: string[];
  /** Their total number, including repetitions. */
  count: number;
  /** JSON pointers (RFC 6901) to the first 20 strings and member names that contain hidden characters. */
  pointers: string[];
}

/** Finds the hidden characters in the strings and member names of a JSON value. Null if there are none. */
export function hiddenCharacters(value: unknown): HiddenCharacters | null {
  const codePoints = new Set<string>();
  const pointers = new Set<string>();
  const path: (string | number)[] = [];
  let count = 0;
  const search = (text: string): void => {
    const matches = text.match(HIDDEN);
    if (!matches) return;
    count += matches.length;
    for (const character of matches) {
      if (codePoints.size === CODE_POINTS_MAX) break;
      codePoints.add(`U+${hexOf(character)}`);
    }
    if (pointers.size < POINTERS_MAX) pointers.add(pointerOf(path));
  };
  const visit = (one: unknown): void => {
    if (typeof one === 'string') return search(one);
    const isObject = isJsonObject(one);
    if (!isObject && !Array.isArray(one)) return;
    for (const [name, inner] of Object.entries(one) as [string, unknown][]) {
      path.push(isObject ? name : Number(name));
      if (isObject) search(name);
      visit(inner);
      path.pop();
    }
  };
  visit(value);
  return count === 0 ? null : { code_points: [...codePoints], count, pointers: [...pointers] };
}
