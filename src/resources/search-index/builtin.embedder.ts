import { normalized } from './embedding';

export const BUILTIN_DIMENSIONS = 256;

/** The weight of a word, and of all trigrams of its letters together. */
const WORD_WEIGHT = 1;
const TRIGRAMS_WEIGHT = 1;

/** Maximum number of letters of a word that count. */
const WORD_MAX = 40;

/**
 * Embeds a text without a model: hashes its words and the trigrams of their letters to 256 dimensions, each with its own
 * sign, and returns the unit vector. Texts are near each other if they share words, or words of similar spelling. Meaning
 * does not count. Repeated words count logarithmically. The first line and the rest are normalized before they are added,
 * so that a long text does not outweigh its name. Returns null for a text without words.
 */
export function embedBuiltin(text: string): Float64Array | null {
  const end = text.indexOf('\n');
  const name = hashed(end < 0 ? text : text.slice(0, end));
  const rest = end < 0 ? null : hashed(text.slice(end + 1));
  if (!name || !rest) return name ?? rest;
  return normalized(name.map((value, index) => value + rest[index]!));
}

function hashed(text: string): Float64Array | null {
  const counts = new Map<string, number>();
  for (const [word] of text
    .normalize('NFKC')
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    const cut = word.slice(0, WORD_MAX);
    counts.set(cut, (counts.get(cut) ?? 0) + 1);
  }
  const vector = new Float64Array(BUILTIN_DIMENSIONS);
  for (const [word, count] of counts) {
    const weight = 1 + Math.log(count);
    add(vector, hash(word, 0, word.length, WORD_SEED), WORD_WEIGHT * weight);
    const padded = `^${word}$`;
    const trigrams = padded.length - 2;
    const each = (TRIGRAMS_WEIGHT * weight) / Math.sqrt(trigrams);
    for (let at = 0; at < trigrams; at++) add(vector, hash(padded, at, at + 3, TRIGRAM_SEED), each);
  }
  return normalized(vector);
}

const WORD_SEED = 0x811c9dc5;
const TRIGRAM_SEED = 0x9e3779b9;

function add(vector: Float64Array, place: number, weight: number): void {
  vector[place % BUILTIN_DIMENSIONS]! += place & 0x80000000 ? -weight : weight;
}

/** FNV-1a over UTF-16 units, with the finish of MurmurHash3, so that all bits depend on all units. Unsigned, 32 bits. */
function hash(text: string, from: number, to: number, seed: number): number {
  let hashed = seed;
  for (let at = from; at < to; at++) hashed = Math.imul(hashed ^ text.charCodeAt(at), 0x01000193);
  hashed = Math.imul(hashed ^ (hashed >>> 16), 0x85ebca6b);
  hashed = Math.imul(hashed ^ (hashed >>> 13), 0xc2b2ae35);
  return (hashed ^ (hashed >>> 16)) >>> 0;
}
