import { randomBytes } from 'node:crypto';
import { Problem } from '#platform/problem';
import { Base64Decoder } from './base64.decoder';

/** What comes of a text that arrives in pieces of some length. */
function decoded(text: string, length = text.length || 1): Buffer {
  const decoder = new Base64Decoder();
  const bytes = Buffer.from(text, 'latin1');
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += length)
    pieces.push(decoder.decode(bytes.subarray(at, at + length)));
  decoder.end();
  return Buffer.concat(pieces);
}

const refusalOf = (work: () => unknown): Problem => {
  try {
    work();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('It was not refused.');
};

describe('a body in base64', () => {
  // RFC 4648, section 10
  it.each([
    ['', ''],
    ['Zg==', 'f'],
    ['Zm8=', 'fo'],
    ['Zm9v', 'foo'],
    ['Zm9vYg==', 'foob'],
    ['Zm9vYmE=', 'fooba'],
    ['Zm9vYmFy', 'foobar'],
  ])('that is %j is %j, however it is cut into pieces', (text, meaning) => {
    for (let length = 1; length <= text.length + 1; length++) {
      expect(decoded(text, length).toString()).toBe(meaning);
    }
  });

  it('has the lines that the base64 command and MIME make', () => {
    const bytes = randomBytes(1000);
    const text = bytes.toString('base64');
    for (const lines of [`${text}\n`, text.replace(/.{76}/g, '$&\n'), text.replace(/.{64}/g, '$&\r\n')]) {
      for (const length of [1, 3, 5, 64, 77, 5000]) expect(decoded(lines, length)).toEqual(bytes);
    }
    expect(decoded('Zg=\n=\r\n').toString()).toBe('f');
  });

  it.each([
    ['a character that is none of its own', 'Zm9v*mFy'],
    ['the alphabet for URLs', '-_-_'],
    ['spaces', 'Zm9v YmFy'],
    ['a tab', 'Zm9v\tYmFy'],
    ['a byte that is not ASCII', 'Zm9v\xe4mFy'],
    ['a line break of Unicode', 'Zm9v\x85'],
    ['no padding', 'Zg'],
    ['half of its padding', 'Zg='],
    ['one character too many', 'Zm9vY'],
    ['too much padding', 'Zg==='],
    ['padding that pads nothing', 'Zm9v===='],
    ['padding alone', '===='],
    ['padding in its middle', 'Zg==Zg=='],
    ['padding within a group', 'Z=g='],
    ['data behind its padding', 'Zg==\nZm9v'],
    ['bits that stand for nothing and are set, of four', 'Zh=='],
    ['bits that stand for nothing and are set, of two', 'Zm9='],
  ])('with %s is refused, however it is cut into pieces', (_, text) => {
    for (let length = 1; length <= text.length; length++) {
      const { status, code, detail } = refusalOf(() => decoded(text, length));
      expect([status, code]).toEqual([400, 'invalid_base64']);
      expect(detail).toMatch(/RFC 4648/);
    }
  });

  it.each([
    ['a space at its end', 'Zm9v ', /It has a space/],
    ['a space behind its padding', 'Zg== ', /It has a space/],
    ['a space between groups', 'Zm9v YmFy', /It has a space/],
    ['the alphabet for URLs', 'Zm9v-_-_', /It has "-", which is not of the alphabet/],
    ['a tab', 'Zm9v\tYmFy', /It has a character, which is not of the alphabet/],
    ['data behind its padding', 'Zg==Zm9v', /padding that is not at its end/],
    ['a bit of data behind its padding', 'Zg==Z', /Nothing but line breaks may follow/],
    ['no padding', 'Zg', /fewer than four characters/],
  ])('with %s is told just that', (_, text, why) => {
    expect(refusalOf(() => decoded(text)).detail).toMatch(why);
  });

  it('with a space is told so, however it is cut into pieces', () => {
    for (const text of ['Zm9v ', 'Zg== ', 'Zm9v YmFy', ' Zm9v']) {
      for (let length = 1; length <= text.length; length++) {
        expect(refusalOf(() => decoded(text, length)).detail).toMatch(/It has a space/);
      }
    }
  });
});
