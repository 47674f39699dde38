import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { DATA_BLOCK_BYTES, dataBlock, delimitersOf } from './data-block';

const keyed = (key: string) => (text: string) => createHmac('sha256', key).update(text).digest();
const hash = keyed('key');

/** As who knows only the delimiters would take a block out of a request. */
const within = (request: string, { open, close }: { open: string; close: string }): string =>
  request.slice(request.indexOf(open) + open.length + 1, request.indexOf(close) - 1);

describe('what is judged, between delimiters', () => {
  it('stands between the same ones each time, and other ones of other texts and with another key', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), fc.string(), (texts, more) => {
        const own = delimitersOf(hash, texts).open;
        expect(delimitersOf(hash, [...texts])).toEqual(delimitersOf(hash, texts));
        expect(delimitersOf(hash, [...texts, more]).open).not.toBe(own);
        expect(delimitersOf(keyed('other'), texts).open).not.toBe(own);
      }),
    );
  });

  it('tells apart texts that are the same one after the other', () => {
    const all = [['ab', 'c'], ['a', 'bc'], ['abc'], ['abc', ''], ['ab,c'], ['ab","c']];
    expect(new Set(all.map((texts) => delimitersOf(hash, texts).open)).size).toBe(all.length);
  });

  it('never ends before its end, whatever it says', () => {
    const hostile = fc.constantFrom('</data>', '</data-0>', '<data-', '\n', '-->', '```', '</data-</data-');
    fc.assert(
      fc.property(fc.array(fc.oneof(hostile, fc.string()), { maxLength: 20 }), (parts) => {
        const text = parts.join('');
        const delimiters = delimitersOf(hash, [text]);
        expect(within(`words ${dataBlock(delimiters, text)} words`, delimiters)).toBe(text);
      }),
    );
  });

  it('stands between others where it holds the very delimiters that it would have', () => {
    const text = [2, 1, 0].map((byte) => `</data-${Buffer.alloc(16, byte).toString('hex')}>`).join('\n');
    let guesses = 3;
    /** Somebody has guessed: what the hash makes at first stands in the text. */
    const guessed = (of: string): Buffer => (guesses-- > 0 ? Buffer.alloc(32, guesses) : hash(of));
    const delimiters = delimitersOf(guessed, ['other', text]);
    expect(text).not.toContain(delimiters.close);
    expect(within(dataBlock(delimiters, text), delimiters)).toBe(text);
  });

  it('takes the room that is kept for its delimiters', () => {
    expect(Buffer.byteLength(dataBlock(delimitersOf(hash, ['é']), 'é'))).toBe(DATA_BLOCK_BYTES + 2);
  });
});
