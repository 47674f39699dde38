import { cutText } from './search-words';

/** What PostgreSQL's parser keeps words together by, as in paths, addresses and names of code, and what markup is made of. */
const PUNCTUATION = '#%&+-./:;<=>?@_~';

/** As many control characters, in their order: the parser takes them for blanks. Those of lines are not among them. */
const STAND_INS = Array.from(PUNCTUATION, (_, index) =>
  String.fromCharCode(index < 8 ? index + 1 : index + 6),
).join('');

/**
 * What is replaced in a text before PostgreSQL looks for words in it, and by what. Then it finds the words of paths,
 * addresses and names of code, as `search_document_words` does, and no markup; and `<` and `>` are its marks alone.
 */
export const HIGHLIGHT_PUNCTUATION: readonly [string, string] = [PUNCTUATION, STAND_INS];

/** Of `ts_headline`: where words begin and end, and one passage of at most 35 words. */
export const HIGHLIGHT_OPTIONS = 'StartSel=<, StopSel=>, MaxWords=35, MinWords=12, MaxFragments=1';

/** UTF-16 units of a passage that are told; words may be long. */
const PASSAGE_MAX = 1_000;

const ESCAPED: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * The passage as HTML: the words that were found in `<mark>`, all else escaped. Null for one in which none was found.
 *
 * @param headline as `ts_headline` wrote it of a text with stand-ins for its punctuation
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
