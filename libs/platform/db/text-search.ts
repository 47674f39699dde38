import { problem } from '#platform/problem';

/** What separates words, as the function `search_words` of the database has it: blanks, and punctuation of ASCII. */
const SEPARATORS = /[\s!-/:-@[-`{-~]+/;

/** More words than anybody types; each is a search of its own. */
const MAX_WORDS = 32;

/**
 * A `tsquery` text for `to_tsquery('simple', …)`, to be held against `search_words`: every word of a client's `q` must
 * occur, the last letters of each may be missing. Null where there is no word in it. Errors: 400 `invalid_query` for
 * more than 32 words.
 */
export function prefixQuery(q: string): string | null {
  const words = q.split(SEPARATORS).filter((word) => /[\p{L}\p{N}]/u.test(word));
  if (words.length > MAX_WORDS) throw problem.invalidQuery('q', `may have at most ${MAX_WORDS} words`);
  return words.length === 0 ? null : words.map((word) => `'${word}':*`).join(' & ');
}
