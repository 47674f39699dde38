import { cutText } from '#platform/json';

/** Punctuation by which PostgreSQL's parser joins words, as in paths, addresses and code, or recognizes markup. */
const PUNCTUATION = '#%&+-./:;<=>?@_~';

/** A control character for each, which the parser takes for a blank. Line breaks are not among them. */
const STAND_INS = Array.from(PUNCTUATION, (_, index) =>
  String.fromCharCode(index < 8 ? index + 1 : index + 6),
).join('');

/**
 * The characters to replace in a text before `ts_headline` reads it, and their stand-ins. It then finds the words of
 * paths, addresses and code as `search_document_words` does, and only its own marks are `<` and `>`.
 */
export const HIGHLIGHT_PUNCTUATION: readonly [string, string] = [PUNCTUATION, STAND_INS];

/** Options of `ts_headline`: the marks around words, and one passage of at most 35 words. */
export const HIGHLIGHT_OPTIONS = 'StartSel=<, StopSel=>, MaxWords=35, MinWords=12, MaxFragments=1';

/** Most UTF-16 units of a passage, because words may be long. */
const PASSAGE_MAX = 1_000;

const ESCAPED: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Returns a passage as HTML with matching words in `<mark>` and all else escaped; null for one without matches.
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
    const itself = index < 0 ? character : PUNCTUATION[index]!;
    html += ESCAPED[itself] ?? itself;
  }
  return isOpen ? `${html}</mark>` : html;
}
