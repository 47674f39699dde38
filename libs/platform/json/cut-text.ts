/** Cuts a text to at most `max` characters (Unicode code points). */
export function cutCharacters(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = 0;
  for (let characters = 0; characters < max && end < text.length; characters++) {
    end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

/** Cuts a text to at most `max` UTF-16 code units, never within a surrogate pair. */
export const cutText = (text: string, max: number): string =>
  text.length <= max ? text : text.slice(0, max).replace(/[\uD800-\uDBFF]$/, '');
