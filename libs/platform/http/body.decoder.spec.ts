import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Problem } from '#platform/problem';
import { contentBytes, decode, encodedLimit } from './body.decoder';
import type { ContentCoding } from './content-headers';

const MIB = 1024 * 1024;
const BOTH: ContentCoding[] = ['gzip', 'base64'];

const base64 = (bytes: Buffer): Buffer => Buffer.from(bytes.toString('base64'));

/** Decodes a body that arrives in these chunks. */
async function decoded(
  chunks: Iterable<Buffer>,
  codings: readonly ContentCoding[],
  limit: number,
): Promise<Buffer> {
  const output: Buffer[] = [];
  for await (const chunk of decode(chunks, codings, limit)) output.push(chunk);
  return Buffer.concat(output);
}

/** Returns the status and code with which the work is rejected. */
async function rejectionOf(work: Promise<unknown>): Promise<[number, string]> {
  const error: unknown = await work.then(
    () => new Error('It was not rejected.'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof Problem) return [error.status, error.code];
  throw error;
}

/** Decodes a body that arrives in chunks of this length. */
function decodedIn(length: number, body: Buffer, codings: ContentCoding[], limit = MIB): Promise<Buffer> {
  const pieces = Array.from({ length: Math.ceil(body.length / length) }, (_, n) =>
    body.subarray(n * length, (n + 1) * length),
  );
  return decoded(pieces, codings, limit);
}

describe('decode', () => {
  const bytes = Buffer.from('what was sent, and more of it, and more of it, and more of it');

  it.each<[ContentCoding[], Buffer]>([
    [[], bytes],
    [['gzip'], gzipSync(bytes)],
    [['base64'], base64(bytes)],
    [BOTH, base64(gzipSync(bytes))],
    [['base64', 'gzip'], gzipSync(base64(bytes))],
  ])('decodes %j, the last one first, whatever the chunks', async (codings, body) => {
    for (let length = 1; length <= body.length; length++) {
      expect(await decodedIn(length, body, codings)).toEqual(bytes);
    }
  });

  it('decodes bodies much larger than a chunk', async () => {
    const large = randomBytes(3 * MIB);
    expect((await decodedIn(MIB / 2, base64(gzipSync(large)), BOTH, 3 * MIB)).equals(large)).toBe(true);
    expect(
      (await decodedIn(MIB / 2, gzipSync(base64(large)), ['base64', 'gzip'], 3 * MIB)).equals(large),
    ).toBe(true);
  });

  it('joins several gzip members, and ignores zero padding after the last', async () => {
    const body = Buffer.concat([gzipSync('first '), gzipSync(''), gzipSync('second'), Buffer.alloc(5)]);
    for (const length of [1, 7, body.length]) {
      expect((await decodedIn(length, body, ['gzip'])).toString()).toBe('first second');
    }
  });

  const whole = gzipSync(bytes);
  const wrongSum = Buffer.from(whole);
  wrongSum[whole.length - 8]! ^= 1;
  const wrongLength = Buffer.from(whole);
  wrongLength[whole.length - 1]! ^= 1;
  it.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['plain text', Buffer.from('no gzip')],
    ['gzip without its last byte', whole.subarray(0, -1)],
    ['gzip without its middle', Buffer.concat([whole.subarray(0, 20), whole.subarray(-10)])],
    ['gzip with another checksum', wrongSum],
    ['gzip with another length', wrongLength],
    ['gzip and a text', Buffer.concat([whole, bytes])],
    ['gzip and the beginning of more', Buffer.concat([whole, whole.subarray(0, 5)])],
  ])('rejects %s with 400, whatever the chunks', async (_, body) => {
    for (const length of [1, 2, 3, 5, 7, whole.length - 1, whole.length, whole.length + 1, 4 * MIB]) {
      expect(await rejectionOf(decodedIn(length, body, ['gzip']))).toEqual([400, 'invalid_request']);
    }
  });

  it('allows exactly the limit', async () => {
    for (const [body, codings] of [
      [gzipSync(bytes), ['gzip']],
      [base64(bytes), ['base64']],
      [base64(gzipSync(bytes)), BOTH],
      [gzipSync(base64(bytes)), ['base64', 'gzip']],
    ] as [Buffer, ContentCoding[]][]) {
      expect(await decoded([body], codings, bytes.length)).toEqual(bytes);
      expect(await rejectionOf(decoded([body], codings, bytes.length - 1))).toEqual([
        413,
        'compressed_payload_too_large',
      ]);
    }
  });

  it('allows line breaks in base64 at the limit', () => {
    expect(encodedLimit(MIB, ['gzip'])).toBe(MIB);
    const lines = base64(randomBytes(MIB)).toString().replace(/.{64}/g, '$&\r\n');
    expect(lines.length).toBeLessThanOrEqual(encodedLimit(MIB, BOTH));
  });

  it('stops reading a gzip bomb early', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB));
    let read = 0;
    function* chunks(): Generator<Buffer> {
      for (; read < bomb.length; read += 1024) yield bomb.subarray(read, read + 1024);
    }
    expect(await rejectionOf(decoded(chunks(), ['gzip'], MIB))).toEqual([
      413,
      'compressed_payload_too_large',
    ]);
    expect(read).toBeLessThan(bomb.length / 2);
  });

  it('rejects endless line breaks, which decode to nothing', async () => {
    const body = gzipSync(Buffer.alloc(64 * MIB, '\n'));
    expect(await rejectionOf(decoded([body], ['base64', 'gzip'], MIB))).toEqual([
      413,
      'compressed_payload_too_large',
    ]);
  });

  it('throws the error of its source', async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield gzipSync(bytes).subarray(0, 20);
      await Promise.reject(new Problem('request_timeout', 'The client stalls.', { status: 408 }));
    }
    const read: Buffer[] = [];
    const reading = async (): Promise<void> => {
      for await (const chunk of decode(broken(), ['gzip'], MIB)) read.push(chunk);
    };
    expect(await rejectionOf(reading())).toEqual([408, 'request_timeout']);
  });
});

describe('base64', () => {
  const text = 'Zm9vYmE=';

  it.each([text, 'Zm9v\r\nYmE=\n', '\nZm9vYmE\n=', 'Zm9vYg==', 'Zm9vYmFy', '+/+/', ''])(
    'decodes %j as Node does, whatever the chunks',
    async (text) => {
      const expected = Buffer.from(text, 'base64');
      expect(contentBytes({ content: text, encoding: 'base64' }, '')).toEqual(expected);
      for (let length = 1; length <= text.length; length++) {
        expect(await decodedIn(length, Buffer.from(text), ['base64'])).toEqual(expected);
      }
    },
  );

  it.each<[string, string]>([
    ['missing padding', 'Zm9vYmE'],
    ['too much padding', 'Zm9vYmE=='],
    ['padding alone', '===='],
    ['data after padding', 'Zm9vYmE=Zm9v'],
    ['padding within a group', 'Zm=vYmFy'],
    ['non-zero bits before the padding', 'Zm9vYmF='],
    ['the URL alphabet', '-_-_'],
    ['a space', 'Zm9v YmFy'],
    ['a character outside ASCII', 'Zm9vYmFé'],
    ['a NUL', 'Zm9vYmF\0'],
  ])('rejects %s, whatever the chunks', async (_, text) => {
    expect(() => contentBytes({ content: text, encoding: 'base64' }, '')).toThrow(Problem);
    const body = Buffer.from(text);
    for (let length = 1; length <= body.length; length++) {
      expect(await rejectionOf(decodedIn(length, body, ['base64']))).toEqual([400, 'invalid_base64']);
    }
  });
});
