import fc from 'fast-check';
import { CUT_MARK_BYTES, cutMiddle, fairShare } from './middle-cut';

const MARK = /\n\[… (\d+) characters are left out here, because all of it would be too long …\]\n…/;
/** It has no half of a surrogate pair. */
const isWellFormed = (text: string): boolean => Buffer.from(text).toString() === text;
const texts = fc.string({ unit: 'binary', maxLength: 600, size: 'max' });

describe('a text that is cut in its middle', () => {
  it('is never longer than it may be, keeps its beginning and its end, and is true of what is left out', () => {
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
        // as much is kept as there is room for, at both ends
        const kept = max - CUT_MARK_BYTES;
        expect(Buffer.byteLength(head)).toBeGreaterThan(kept / 2 - 4);
        expect(Buffer.byteLength(tail)).toBeGreaterThan(kept / 2 - 4);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7])('has no half of an emoji, wherever the cut falls (%i)', (shift) => {
    const cut = cutMiddle('a'.repeat(shift) + '😀é€'.repeat(200) + 'a'.repeat(shift), 400);
    expect([isWellFormed(cut), cut.includes('\ufffd'), Buffer.byteLength(cut) <= 400]).toEqual([true, false, true]);
  }); // prettier-ignore

  it('of 8 MiB is one as well, and the mark has the room that is kept for it', () => {
    const cut = cutMiddle('𝒳'.repeat(2 ** 21), CUT_MARK_BYTES + 16);
    expect(cut).toMatch(/^𝒳𝒳\n\[… 4194296 characters are left out .*\]\n…𝒳𝒳$/);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(CUT_MARK_BYTES + 16);
  });

  it('has nothing after the mark that looks like a line of its own', () => {
    expect(cutMiddle(`a${'\n[assistant]'.repeat(500)}`, 200)).toMatch(/\]\n…[^\n]/);
  });
});

describe('the share that each of some texts may keep', () => {
  it('takes nothing from the short ones, leaves no room unused, and gives the long ones the same', () => {
    const sizes = fc.array(fc.nat(10_000), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(sizes, fc.nat(100_000), (all, room) => {
        const share = fairShare(all, room);
        const kept = all.reduce((sum, size) => sum + Math.min(size, share), 0);
        expect(kept).toBeLessThanOrEqual(room);
        if (share === Infinity) return;
        expect(kept).toBeGreaterThan(room - all.length);
        expect(all.some((size) => size > share)).toBe(true);
      }),
    );
  });

  it.each([
    [[], 0, Infinity],
    [[10, 1_000, 2_000], 110, 50],
    [[10, 10], 20, Infinity],
    [[0, 1], -5, -3],
  ])('of %j in %i is %d', (sizes, room, share) => {
    expect(fairShare(sizes, room)).toBe(share);
  });
});
