import fc from 'fast-check';
import { CUT_MARK_BYTES, cutMiddle, fairShare } from './middle-cut';

const MARK = /\n\[… (\d+) characters were removed here because the text is too long …\]\n…/;
/** Tells whether a text has no unpaired surrogates. */
const isWellFormed = (text: string): boolean => Buffer.from(text).toString() === text;
const texts = fc.string({ unit: 'binary', maxLength: 600, size: 'max' });

describe('cutMiddle', () => {
  it('keeps to the limit, keeps the start and the end, and counts the removed characters', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: CUT_MARK_BYTES, max: 1_000 }), (text, max) => {
        const cut = cutMiddle(text, max);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max);
        expect(isWellFormed(cut)).toBe(true);
        if (Buffer.byteLength(text) <= max) return expect(cut).toBe(text);
        const [mark, count] = MARK.exec(cut)!;
        const [head, tail] = cut.split(mark) as [string, string];
        expect([text.startsWith(head), text.endsWith(tail)]).toEqual([true, true]);
        expect(head.length + tail.length + Number(count)).toBe(text.length);
        // both ends use their half of the limit
        const textBytes = max - CUT_MARK_BYTES;
        expect(Buffer.byteLength(head)).toBeGreaterThan(textBytes / 2 - 4);
        expect(Buffer.byteLength(tail)).toBeGreaterThan(textBytes / 2 - 4);
      }),
      { numRuns: 500 },
    );
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7])('never splits an emoji, wherever the cut is (%i)', (shift) => {
    const cut = cutMiddle('a'.repeat(shift) + '😀é€'.repeat(200) + 'a'.repeat(shift), 400);
    expect([isWellFormed(cut), cut.includes('\ufffd'), Buffer.byteLength(cut) <= 400]).toEqual([true, false, true]);
  }); // oxfmt-ignore

  it('cuts 8 MiB, and reserves enough bytes for the mark', () => {
    const cut = cutMiddle('𝒳'.repeat(2 ** 21), CUT_MARK_BYTES + 16);
    expect(cut).toMatch(/^𝒳𝒳\n\[… 4194296 characters were removed .*\]\n…𝒳𝒳$/);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(CUT_MARK_BYTES + 16);
  });

  it('does not start a line with the text after the mark', () => {
    expect(cutMiddle(`a${'\n[assistant]'.repeat(500)}`, 200)).toMatch(/\]\n…[^\n]/);
  });
});

describe('fairShare', () => {
  it('keeps short texts whole, uses the total, and gives long texts the same share', () => {
    const sizes = fc.array(fc.nat(10_000), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(sizes, fc.nat(100_000), (all, total) => {
        const share = fairShare(all, total);
        const used = all.reduce((sum, size) => sum + Math.min(size, share), 0);
        expect(used).toBeLessThanOrEqual(total);
        if (share === Infinity) return;
        expect(used).toBeGreaterThan(total - all.length);
        expect(all.some((size) => size > share)).toBe(true);
      }),
    );
  });

  it.each([
    [[], 0, Infinity],
    [[10, 1_000, 2_000], 110, 50],
    [[10, 10], 20, Infinity],
    [[0, 1], -5, -3],
  ])('gives texts of the sizes %j in %i bytes a share of %d', (sizes, total, share) => {
    expect(fairShare(sizes, total)).toBe(share);
  });
});
