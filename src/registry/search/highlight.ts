import { cutText } from '#platform/json';

/** Punctuation with which PostgreSQL's parser joins words (as in paths, URLs and code) or recognizes markup. */
const PUNCTUATION = '#%&+-./:;<=>?@_~';

/** A control character for each of them, which the parser treats as a blank. Does not include line breaks. */
const STAND_INS = Array.from(PUNCTUATION, (_, index) =>
  String.fromCharCode(index < 8 ? index + 1 : index + 6),
).join('');

/**
 * The characters to replace in a text before it is passed to `ts_headline`, and their stand-ins. `ts_headline` then finds the
 * words of paths, URLs and code as `search_document_words` does, and the only `<` and `>` are its own marks.
 */
export const HIGHLIGHT_PUNCTUATION: readonly [string, string] = [PUNCTUATION, STAND_INS];

/** Options of `ts_headline`: the marks around words, and one passage of at most 35 words. */
export const HIGHLIGHT_OPTIONS = 'StartSel=<, StopSel=>, MaxWords=35, MinWords=12, MaxFragments=1';

/** Maximum UTF-16 units of a passage, because words may be long. */
const PASSAGE_MAX = 1_000;

const ESCAPED: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Returns a passage as HTML with matching words in `<mark>` and everything else escaped, or null if nothing matches.
 *
 * @param headline the output of `ts_headline` for a text with stand-ins
 */
export function highlightOf(headline: string | null): string | null {
  if (headline === null || !headline.includes('<')) return null;
  let isOpen = false;
  let html = '';
  for (const character of cutText(headline, PASSAGE_MAX)) {
    if (character === '<' || character === '>') {
      isOpen = character === '<';
      html += isOpen ? '<mark>' : '</mark>';
      continue;
    }
    const index = STAND_INS.indexOf(character);
    const original = index < 0 ? character : PUNCTUATION[index]!;
    html += ESCAPED[original] ?? original;
  }
  return isOpen ? `${html}</mark>` : html;
}

/** Letters of scripts that do not separate words, as in the database's function `search_text`. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Myanmar}\p{sc=Khmer}\u30fc\u3005]/u;

/** A letter or digit of a word between blanks. */
const SPACED = `[[\\p{L}\\p{N}]--${UNSPACED.source}]`;

/** Returns whether a word is in a script without blanks, and therefore matches anywhere in a text. */
export const isUnspaced = (word: string): boolean => UNSPACED.test(word);

/** UTF-16 units of a passage before and after the beginning of its first match. */
const BEFORE = 60;
const AFTER = 240;

/**
 * Returns a passage as HTML like `highlightOf`, or null. Finds words that `ts_headline` cannot find: those in scripts without
 * blanks, and those with other accents.
 *
 * @param text without stand-ins
 * @param words of the query, which have no ASCII punctuation
 */
export function highlightIn(text: string, words: readonly string[]): string | null {
  const patterns = words.map((word) => {
    const plain = withoutAccents(word);
    return isUnspaced(word) ? plain : `(?<!${SPACED})${plain}${SPACED}*`;
  });
  if (patterns.length === 0) return null;
  const { plain, places } = plainText(text);
  const [first, ...others] = plain.matchAll(new RegExp(patterns.join('|'), 'gv'));
  if (!first) return null;
  const place = places[first.index]!;
  const start = Math.max(0, place - BEFORE);
  const passage = cutText(text.slice(start).replace(/^[\udc00-\udfff]/, ' '), place - start + AFTER);
  let html = '';
  let at = 0;
  for (const { index, 0: match } of [first, ...others]) {
    const [from, to] = [places[index]! - start, places[index + match.length]! - start];
    if (to > passage.length) break;
    html += `${escaped(passage.slice(at, from))}<mark>${escaped(passage.slice(from, to))}</mark>`;
    at = to;
  }
  return html + escaped(passage.slice(at));
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPED[character]!);

/** Letters that no accent explains, as in the database's function `search_text`. */
const SPELT: Record<string, string> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe' },
  ...{ ø: 'o', ł: 'l', đ: 'd', ħ: 'h', ı: 'i' },
};

const withoutAccents = (word: string): string =>
  word
    .normalize('NFD')
    .replace(/[\u0300-\u036f]+/g, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/[ßæœøłđħı]/g, (letter) => SPELT[letter]!);

/** Returns a text without accents, and for each of its units and its end the place in the text. */
function plainText(text: string): { plain: string; places: number[] } {
  const places: number[] = [];
  let plain = '';
  let place = 0;
  for (const character of text) {
    const letters = withoutAccents(character);
    for (let unit = 0; unit < letters.length; unit++) places.push(place);
    plain += letters;
    place += character.length;
  }
  places.push(place);
  return { plain, places };
}
