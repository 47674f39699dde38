/** Maximum length of the mark at a cut, in bytes. */
export const CUT_MARK_BYTES = 120;

const markOf = (characters: number): string =>
  `\n[… ${characters} characters were removed here because the text is too long …]\n…`;

/**
 * Cuts a text in the middle to at most `max` bytes of UTF-8, and marks the cut. Never splits a character. The text after
 * the mark starts with an ellipsis, so that it does not look like a new line. Returns a text that fits unchanged.
 *
 * @param max at least {@link CUT_MARK_BYTES}
 */
export function cutMiddle(text: string, max: number): string {
  // A UTF-16 code unit takes at most three bytes.
  if (text.length * 3 <= max) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= max) return text;
  const textBytes = Math.max(0, max - CUT_MARK_BYTES);
  let headEnd = Math.ceil(textBytes / 2);
  while (headEnd > 0 && isWithinCharacter(bytes[headEnd]!)) headEnd -= 1;
  let tailStart = bytes.length - Math.floor(textBytes / 2);
  while (tailStart < bytes.length && isWithinCharacter(bytes[tailStart]!)) tailStart += 1;
  const head = bytes.toString('utf8', 0, headEnd);
  const tail = bytes.toString('utf8', tailStart);
  return `${head}${markOf(text.length - head.length - tail.length)}${tail}`;
}

/** Tells whether a byte continues a UTF-8 character. */
const isWithinCharacter = (byte: number): boolean => (byte & 0xc0) === 0x80;

/**
 * Returns the number of bytes that each text may keep, so that all texts together have at most `total` bytes. Short texts
 * stay whole, and long texts share the rest equally.
 */
export function fairShare(sizes: readonly number[], total: number): number {
  let left = total;
  const ascending = [...sizes].sort((a, b) => a - b);
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Infinity;
}
