/** Longest mark of a cut, in bytes. */
export const CUT_MARK_BYTES = 120;

const markOf = (characters: number): string =>
  `\n[… ${characters} characters are left out here, because all of it would be too long …]\n…`;

/**
 * Cuts a text in the middle to at most `max` bytes of UTF-8, and marks the cut. Never splits a character. The rest begins
 * with an ellipsis, so that it cannot pass for a line of its own. Returns a text that fits unchanged.
 *
 * @param max at least {@link CUT_MARK_BYTES}
 */
export function cutMiddle(text: string, max: number): string {
  // A UTF-16 code unit takes at most three bytes.
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

/** Whether a byte continues a character of UTF-8. */
const isWithinCharacter = (byte: number): boolean => (byte & 0xc0) === 0x80;

/**
 * Returns how many bytes each text may keep, so that together they have at most `room`: short texts keep everything, and
 * the long ones share the rest equally.
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
