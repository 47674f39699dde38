const MAX_WORDS = 16;

/**
 * A `tsquery` text for `to_tsquery('simple', …)`: every word of a client's `q` must occur, the last letters of each
 * may be missing. Null where there is no word in it.
 */
export function prefixQuery(q: string): string | null {
  const words = q.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
  if (words.length === 0) return null;
  return words
    .slice(0, MAX_WORDS)
    .map((word) => `'${word.replace(/\\/g, '\\\\').replace(/'/g, "''")}':*`)
    .join(' & ');
}
