const MAX_WORDS = 16;

/** What separates words, as the function `search_words` of the database has it: blanks, and punctuation of ASCII. */
const SEPARATORS = /[\s!-/:-@[-`{-~]+/;

/**
 * A `tsquery` text for `to_tsquery('simple', …)`, to be held against `search_words`: every word of a client's `q` must
 * occur, the last letters of each may be missing. Null where there is no word in it.
 */
export function prefixQuery(q: string): string | null {
  const words = q.split(SEPARATORS).filter((word) => /[\p{L}\p{N}]/u.test(word));
  if (words.length === 0) return null;
  return words
    .slice(0, MAX_WORDS)
    .map((word) => `'${word}':*`)
    .join(' & ');
}
