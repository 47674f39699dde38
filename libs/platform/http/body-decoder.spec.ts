import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Problem } from '#platform/problem';
import { BodyDecoder, sentLimit, undoCodings } from './body-decoder';
import type { ContentCoding } from './content-coding';

const MIB = 1024 * 1024;
const BOTH: ContentCoding[] = ['gzip', 'base64'];

const base64 = (bytes: Buffer): Buffer => Buffer.from(bytes.toString('base64'));

/** Status and code of what refuses it. */
async function refusalOf(work: Promise<unknown>): Promise<[number, string]> {
  const error: unknown = await work.then(
    () => new Error('It was not refused.'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof Problem) return [error.status, error.code];
  throw error;
}

/** What comes of bytes that arrive in pieces of some length. */
function undoneIn(length: number, body: Buffer, codings: ContentCoding[], limit = MIB): Promise<Buffer> {
  const pieces = Array.from({ length: Math.ceil(body.length / length) }, (_, n) =>
    body.subarray(n * length, (n + 1) * length),
  );
  return undoCodings(pieces, codings, limit);
}

describe('the codings of a body', () => {
  const bytes = Buffer.from('what was sent, and more of it, and more of it, and more of it');

  it.each<[ContentCoding[], Buffer]>([
    [[], bytes],
    [['gzip'], gzipSync(bytes)],
    [['base64'], base64(bytes)],
    [BOTH, base64(gzipSync(bytes))],
    [['base64', 'gzip'], gzipSync(base64(bytes))],
  ])('%j are undone, the last first, however it is cut into pieces', async (codings, body) => {
    for (let length = 1; length <= body.length; length++) {
      expect(await undoneIn(length, body, codings)).toEqual(bytes);
    }
  });

  it('are undone where a body is much larger than a piece', async () => {
    const large = randomBytes(3 * MIB);
    expect((await undoneIn(MIB / 2, base64(gzipSync(large)), BOTH, 3 * MIB)).equals(large)).toBe(true);
    expect(
      (await undoneIn(MIB / 2, gzipSync(base64(large)), ['base64', 'gzip'], 3 * MIB)).equals(large),
    ).toBe(true);
  });

  it('of several members, as tools that append make them, are one body', async () => {
    const body = Buffer.concat([gzipSync('first '), gzipSync(''), gzipSync('second')]);
    for (const length of [1, 7, body.length]) {
      expect((await undoneIn(length, body, ['gzip'])).toString()).toBe('first second');
    }
  });

  const whole = gzipSync(bytes);
  const wrongSum = Buffer.from(whole);
  wrongSum[whole.length - 8]! ^= 1;
  const wrongLength = Buffer.from(whole);
  wrongLength[whole.length - 1]! ^= 1;
  it.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['no gzip', Buffer.from('no gzip')],
    ['gzip without its last byte', whole.subarray(0, -1)],
    ['gzip without its middle', Buffer.concat([whole.subarray(0, 20), whole.subarray(-10)])],
    ['gzip with another checksum', wrongSum],
    ['gzip with another length', wrongLength],
    ['gzip and a text', Buffer.concat([whole, bytes])],
    ['gzip and zeros', Buffer.concat([whole, Buffer.alloc(5)])],
    ['gzip, zeros and more gzip', Buffer.concat([whole, Buffer.alloc(5), whole])],
    ['gzip and the beginning of more', Buffer.concat([whole, whole.subarray(0, 5)])],
  ])('that are %s are 400, however it is cut into pieces', async (_, body) => {
    for (const length of [1, 2, 3, 5, 7, whole.length - 1, whole.length, whole.length + 1, 4 * MIB]) {
      expect(await refusalOf(undoneIn(length, body, ['gzip']))).toEqual([400, 'invalid_request']);
    }
  });

  it('may come to the limit, and not to one byte more', async () => {
    for (const [body, codings] of [
      [gzipSync(bytes), ['gzip']],
      [base64(bytes), ['base64']],
      [base64(gzipSync(bytes)), BOTH],
      [gzipSync(base64(bytes)), ['base64', 'gzip']],
    ] as [Buffer, ContentCoding[]][]) {
      expect(await undoCodings([body], codings, bytes.length)).toEqual(bytes);
      expect(await refusalOf(undoCodings([body], codings, bytes.length - 1))).toEqual([
        413,
        'compressed_payload_too_large',
      ]);
    }
  });

  it('may be sent in base64 with line breaks at that limit', () => {
    expect(sentLimit(MIB, ['gzip'])).toBe(MIB);
    const lines = base64(randomBytes(MIB)).toString().replace(/.{64}/g, '$&\r\n');
    expect(lines.length).toBeLessThanOrEqual(sentLimit(MIB, BOTH));
  });

  it('that come to more are refused at once, and nothing more of them is undone', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB));
    let handedOn = 0;
    const decoder = new BodyDecoder(['gzip'], MIB, (piece) => (handedOn += piece.length));
    let written = 0;
    const feed = async (): Promise<void> => {
      for (; written < bomb.length; written += 1024) {
        await decoder.write(bomb.subarray(written, written + 1024));
      }
    };
    expect(await refusalOf(feed())).toEqual([413, 'compressed_payload_too_large']);
    expect(handedOn).toBeLessThanOrEqual(MIB);
    expect(written).toBeLessThan(4 * 1024);
    // and nothing can be made of the rest
    expect(await refusalOf(decoder.write(bomb.subarray(written)))).toEqual([
      413,
      'compressed_payload_too_large',
    ]);
    expect(await refusalOf(decoder.end())).toEqual([413, 'compressed_payload_too_large']);
    decoder.close();
  });

  it('that come to line breaks without end, which base64 makes nothing of, are refused too', async () => {
    const body = gzipSync(Buffer.alloc(64 * MIB, '\n'));
    expect(await refusalOf(undoCodings([body], ['base64', 'gzip'], MIB))).toEqual([
      413,
      'compressed_payload_too_large',
    ]);
  });
});
