import { createHash } from 'node:crypto';

/** What separates words, as the function `search_document_words` of the database has it. */
const SEPARATORS = /[\s!-/:-@[-`{-~]+/;

/** More words than anybody types; each is a search of its own. */
export const WORDS_MAX = 32;

/** Characters of a word that count: more than any word has, and fewer than a lexeme may have bytes. */
const WORD_MAX = 200;

/** What stands before each word of an organization's documents in the index. Where two have the same, it costs time alone. */
export const markOf = (orgId: string): string => createHash('sha256').update(orgId).digest('hex').slice(0, 8);

/** The words of a query, without punctuation. */
export const wordsOf = (query: string): string[] =>
  query
    .split(SEPARATORS)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .map((word) => Array.from(word).slice(0, WORD_MAX).join(''));

/** `create` and `Ticket` of `createTicket`, as names of documents are read besides; the word alone where it has no parts. */
export const partsOf = (word: string): string[] => word.replace(/([a-z0-9])(?=[A-Z])/g, '$1 ').split(' ');

/** A word that is looked for, with its parts, by all of which it is found as well. */
export interface SoughtWord {
  word: string;
  /** At least two, or none. */
  parts: readonly string[];
}

/** What is looked for by words. */
export interface Sought {
  /** As it was typed, without blanks around it. */
  typed: string;
  words: readonly SoughtWord[];
}

/** What is looked for: in the form of Unicode that documents are read in. */
export function soughtOf(query: string): Sought {
  const typed = query.normalize('NFKC').trim();
  let room = WORDS_MAX;
  const words = wordsOf(typed).map((word) => {
    const parts = partsOf(word);
    const isSplit = parts.length > 1 && parts.length <= room;
    if (isSplit) room -= parts.length;
    return { word, parts: isSplit ? parts : [] };
  });
  return { typed, words };
}

/** A word as the function `search_query` of the database takes it: followed by its parts. */
export const termOf = ({ word, parts }: SoughtWord): string => [word, ...parts].join(' ');

/** Letters of a word within which two may be in each other's place. */
const SWAPPED_MAX = 24;

/** A word with two neighbouring letters in each other's place, for each two that differ. */
export function swapped(word: string): string[] {
  const letters = Array.from(word);
  return letters.slice(0, SWAPPED_MAX - 1).flatMap((letter, at) => {
    const next = letters[at + 1];
    if (next === undefined || next === letter) return [];
    return [[...letters.slice(0, at), next, letter, ...letters.slice(at + 2)].join('')];
  });
}

/** The beginning of a text, of at most so many UTF-16 units, with no half of a character at its end. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  const isHalf = /[\uD800-\uDBFF]/.test(text[max - 1]!);
  return text.slice(0, isHalf ? max - 1 : max);
}
