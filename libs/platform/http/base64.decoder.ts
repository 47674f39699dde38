import { Problem } from '#platform/problem';

const LINE_BREAKS = /[\r\n]+/g;
const QUADS = /^[A-Za-z0-9+/]*={0,2}$/;
const FOREIGN = /[^A-Za-z0-9+/=]/;
const BEHIND_PADDING = 'Nothing but line breaks may follow its padding.';
const MISPLACED_PADDING = 'It has padding that is not at its end, or too much of it.';
/** The last four characters, where they are padded: the bits that stand for nothing are zeros (RFC 4648, section 3.5). */
const PADDED_END = /(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)$/;

/**
 * Undoes base64 (RFC 4648, section 4) piece by piece. CR and LF may stand anywhere, as the lines of the `base64` command
 * and of MIME have them; nothing else is lenient. Errors: 400 `invalid_base64` for any other character, for padding that
 * is missing, too much, within the data or over bits that are not zero.
 */
export class Base64Decoder {
  /** Up to three characters that are no whole group of four yet. */
  private rest = '';
  private isPadded = false;

  decode(bytes: Buffer): Buffer {
    const text = this.rest + bytes.toString('latin1').replace(LINE_BREAKS, '');
    if (text === '') return Buffer.alloc(0);
    if (this.isPadded) throw invalid(foreignIn(text) ?? BEHIND_PADDING);
    const whole = text.length - (text.length % 4);
    const quads = text.slice(0, whole);
    this.rest = text.slice(whole);
    if (!QUADS.test(quads)) throw invalid(foreignIn(quads) ?? MISPLACED_PADDING);
    const foreign = foreignIn(this.rest);
    if (foreign) throw invalid(foreign);
    this.isPadded = quads.endsWith('=');
    if (this.isPadded && this.rest !== '') throw invalid(BEHIND_PADDING);
    if (this.isPadded && !PADDED_END.test(quads)) {
      throw invalid('Its last group is not padded as it should be: bits that stand for nothing are zeros.');
    }
    return Buffer.from(quads, 'base64');
  }

  /** To be called after the last piece. */
  end(): void {
    if (this.rest !== '') throw invalid('Its last group has fewer than four characters: pad it with "=".');
  }
}

const invalid = (detail: string): Problem =>
  new Problem('invalid_base64', `The body is not base64 as of RFC 4648, section 4. ${detail}`);

/** Tells the first character that base64 has not; a space by its name, because nobody sees it. */
function foreignIn(text: string): string | undefined {
  const character = FOREIGN.exec(text)?.[0];
  if (character === undefined) return undefined;
  if (character === ' ') return 'It has a space, which is no character of base64.';
  const shown = /[!-~]/.test(character) ? `"${character}"` : 'a character';
  return `It has ${shown}, which is not of the alphabet: A to Z, a to z, 0 to 9, "+" and "/".`;
}
