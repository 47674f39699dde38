/** Word separators, the same as in the database function `search_document_words`. */
const SEPARATORS = /[\s!-/:-@[-`{-~]+/;

/** Maximum number of words of a query, because each is searched separately. */
export const WORDS_MAX = 32;

/** Maximum number of characters of a word, so that it fits in a lexeme. The rest is ignored. */
const WORD_MAX = 200;

/** A word of a query with its parts, such as `createTicket` with `create` and `Ticket`. */
export interface QueryWord {
  word: string;
  /** At least two parts, or none. */
  parts: readonly string[];
}

/** A query in the Unicode normal form of indexed documents. */
export interface NormalizedQuery {
  /** The query without leading and trailing blanks. */
  text: string;
  words: readonly QueryWord[];
}

export function normalizeQuery(query: string): NormalizedQuery {
  const text = query.normalize('NFKC').trim();
  let remainingParts = WORDS_MAX;
  const words = wordsOf(text).map((word) => {
    const parts = word.replace(/([a-z0-9])(?=[A-Z])/g, '$1 ').split(' ');
    const isSplit = parts.length > 1 && parts.length <= remainingParts;
    if (isSplit) remainingParts -= parts.length;
    return { word, parts: isSplit ? parts : [] };
  });
  return { text, words };
}

const wordsOf = (query: string): string[] =>
  query
    .split(SEPARATORS)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .map((word) => Array.from(word).slice(0, WORD_MAX).join(''));

/** Returns a word followed by its parts, as the database function `search_query` expects it. */
export const termOf = ({ word, parts }: QueryWord): string => [word, ...parts].join(' ');

/** Swaps are only tried within this many letters of a word. */
const SWAP_LETTERS_MAX = 24;

/** Returns all variants of a word with two different neighbouring letters swapped. */
export function letterSwaps(word: string): string[] {
  const letters = Array.from(word);
  return letters.slice(0, SWAP_LETTERS_MAX - 1).flatMap((letter, at) => {
    const next = letters[at + 1];
    if (next === undefined || next === letter) return [];
    return [[...letters.slice(0, at), next, letter, ...letters.slice(at + 2)].join('')];
  });
}
