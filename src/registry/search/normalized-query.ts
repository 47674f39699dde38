/** Separators of words, the same as in the database function `search_document_words`. */
const SEPARATORS = /[\s!-/:-@[-`{-~]+/;

/** The most words of a query, because each is searched on its own. */
export const WORDS_MAX = 32;

/** The characters of a word that count, so that it fits in a lexeme. */
const WORD_MAX = 200;

/** A word of a query, with its parts: `create` and `Ticket` of `createTicket`. */
export interface QueryWord {
  word: string;
  /** At least two, or none. */
  parts: readonly string[];
}

/** A query in the Unicode form that documents are read in. */
export interface NormalizedQuery {
  /** The query without surrounding blanks. */
  text: string;
  words: readonly QueryWord[];
}

export function normalizeQuery(query: string): NormalizedQuery {
  const text = query.normalize('NFKC').trim();
  let left = WORDS_MAX;
  const words = wordsOf(text).map((word) => {
    const parts = word.replace(/([a-z0-9])(?=[A-Z])/g, '$1 ').split(' ');
    const isSplit = parts.length > 1 && parts.length <= left;
    if (isSplit) left -= parts.length;
    return { word, parts: isSplit ? parts : [] };
  });
  return { text, words };
}

const wordsOf = (query: string): string[] =>
  query
    .split(SEPARATORS)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .map((word) => Array.from(word).slice(0, WORD_MAX).join(''));

/** Returns a word as the function `search_query` of the database takes it: followed by its parts. */
export const termOf = ({ word, parts }: QueryWord): string => [word, ...parts].join(' ');

/** Letters of a word within which two may be swapped. */
const SWAPPED_MAX = 24;

/** Returns a word with two neighbouring letters swapped, for each two that differ. */
export function swapped(word: string): string[] {
  const letters = Array.from(word);
  return letters.slice(0, SWAPPED_MAX - 1).flatMap((letter, at) => {
    const next = letters[at + 1];
    if (next === undefined || next === letter) return [];
    return [[...letters.slice(0, at), next, letter, ...letters.slice(at + 2)].join('')];
  });
}
