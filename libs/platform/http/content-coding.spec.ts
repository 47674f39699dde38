import { gzipSync } from 'node:zlib';
import { Problem } from '#platform/problem';
import { codingsOf, undoCodings } from './content-coding';

const MIB = 1024 * 1024;

const refusal = async (work: () => Promise<unknown>): Promise<Problem> => {
  const error: unknown = await work().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof Problem) return error;
  throw new Error('It was not refused.', { cause: error });
};

describe('content codings', () => {
  it('are read from the header, identity and spelling aside', () => {
    expect(codingsOf(undefined, ['gzip'])).toEqual([]);
    expect(codingsOf(' , identity', ['gzip'])).toEqual([]);
    expect(codingsOf('X-GZip, identity', ['gzip'])).toEqual(['gzip']);
  });

  it.each(['br', 'gzip, br', 'gzip, gzip'])('are refused where they are not allowed: %s', async (header) => {
    const { status, code, headers } = await refusal(() =>
      Promise.resolve().then(() => codingsOf(header, ['gzip'])),
    );
    expect([status, code]).toEqual([415, 'unsupported_content_encoding']);
    expect(headers['Accept-Encoding']).toBe('gzip, identity');
  });

  it('are undone', async () => {
    const bytes = Buffer.from('what was sent');
    expect(await undoCodings(gzipSync(bytes), ['gzip'], 100)).toEqual(bytes);
    expect(await undoCodings(bytes, [], 100)).toEqual(bytes);
  });

  it('of several members, as tools that append make them, are one body', async () => {
    const body = Buffer.concat([gzipSync('first '), gzipSync('second')]);
    expect((await undoCodings(body, ['gzip'], 100)).toString()).toBe('first second');
  });

  it('stop at the limit while they inflate, so that a small body does not fill the memory', async () => {
    const bomb = gzipSync(Buffer.alloc(256 * MIB));
    const before = process.memoryUsage().arrayBuffers;
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().arrayBuffers - before);
    }, 1);
    const { status, code } = await refusal(() => undoCodings(bomb, ['gzip'], MIB));
    clearInterval(watch);
    expect([status, code]).toEqual([413, 'compressed_payload_too_large']);
    expect(peak).toBeLessThan(64 * MIB);
  });

  it('that are broken are 400', async () => {
    const whole = gzipSync('what was sent');
    for (const broken of [Buffer.alloc(0), whole.subarray(0, -1), Buffer.from('no gzip')]) {
      const { status, code } = await refusal(() => undoCodings(broken, ['gzip'], 100));
      expect([status, code]).toEqual([400, 'invalid_request']);
    }
  });
});
