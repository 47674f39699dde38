/** Bytes that the mark of a cut takes at most. */
export const CUT_MARK_BYTES = 120;

const markOf = (characters: number): string =>
  `\n[… ${characters} characters are left out here, because all of it would be too long …]\n…`;

/**
 * Cuts a text in its middle to at most `max` bytes of UTF-8, with a mark in the place of what is left out. No character
 * is cut in two, and what follows the mark begins with an ellipsis, never with a line of its own. A text that fits comes
 * back as it is.
 *
 * @param max at least {@link CUT_MARK_BYTES}.
 */
export function cutMiddle(text: string, max: number): string {
  // a character has at most three bytes for each of its UTF-16 code units
  if (text.length * 3 <= max) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= max) return text;
  const kept = Math.max(0, max - CUT_MARK_BYTES);
  let headEnd = Math.ceil(kept / 2);
  while (headEnd > 0 && isWithinCharacter(bytes[headEnd]!)) headEnd -= 1;
  let tailStart = bytes.length - Math.floor(kept / 2);
  while (tailStart < bytes.length && isWithinCharacter(bytes[tailStart]!)) tailStart += 1;
  const head = bytes.toString('utf8', 0, headEnd);
  const tail = bytes.toString('utf8', tailStart);
  return `${head}${markOf(text.length - head.length - tail.length)}${tail}`;
}

/** A byte that continues a character of UTF-8. */
const isWithinCharacter = (byte: number): boolean => (byte & 0xc0) === 0x80;

/**
 * The most bytes that each of some texts may keep, so that together they have no more than `room`: the shorter ones
 * keep all they have, and the longer ones share what is left alike.
 */
export function fairShare(sizes: readonly number[], room: number): number {
  let left = room;
  const ascending = [...sizes].sort((a, b) => a - b);
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Infinity;
}
