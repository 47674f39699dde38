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
