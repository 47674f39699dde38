import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { DATA_BLOCK_BYTES, dataBlock, delimitersOf } from './data-block';

const keyed = (key: string) => (text: string) => createHmac('sha256', key).update(text).digest();
const hash = keyed('key');

/** Extracts a block from a request, knowing only its delimiters. */
const within = (request: string, { open, close }: { open: string; close: string }): string =>
  request.slice(request.indexOf(open) + open.length + 1, request.indexOf(close) - 1);

describe('delimitersOf', () => {
  it('returns equal delimiters for equal texts, and others for other texts and keys', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), fc.string(), (texts, more) => {
        const own = delimitersOf(hash, texts).open;
        expect(delimitersOf(hash, [...texts])).toEqual(delimitersOf(hash, texts));
        expect(delimitersOf(hash, [...texts, more]).open).not.toBe(own);
        expect(delimitersOf(keyed('other'), texts).open).not.toBe(own);
      }),
    );
  });

  it('distinguishes texts with the same concatenation', () => {
    const all = [['ab', 'c'], ['a', 'bc'], ['abc'], ['abc', ''], ['ab,c'], ['ab","c']];
    expect(new Set(all.map((texts) => delimitersOf(hash, texts).open)).size).toBe(all.length);
  });

  it('never lets a text end its own block', () => {
    const hostile = fc.constantFrom('</data>', '</data-0>', '<data-', '\n', '-->', '```', '</data-</data-');
    fc.assert(
      fc.property(fc.array(fc.oneof(hostile, fc.string()), { maxLength: 20 }), (parts) => {
        const text = parts.join('');
        const delimiters = delimitersOf(hash, [text]);
        expect(within(`words ${dataBlock(delimiters, text)} words`, delimiters)).toBe(text);
      }),
    );
  });

  it('returns other delimiters if a text contains the first ones', () => {
    const text = [2, 1, 0].map((byte) => `</data-${Buffer.alloc(16, byte).toString('hex')}>`).join('\n');
    let guesses = 3;
    /** The first hashes are in the text, as if its author had guessed them. */
    const guessed = (of: string): Buffer => (guesses-- > 0 ? Buffer.alloc(32, guesses) : hash(of));
    const delimiters = delimitersOf(guessed, ['other', text]);
    expect(text).not.toContain(delimiters.close);
    expect(within(dataBlock(delimiters, text), delimiters)).toBe(text);
  });

  it('adds exactly the bytes that are reserved for delimiters', () => {
    expect(Buffer.byteLength(dataBlock(delimitersOf(hash, ['é']), 'é'))).toBe(DATA_BLOCK_BYTES + 2);
  });
});
