import { createHash } from 'node:crypto';
import { IncomingRequest } from './incoming-request';
import { SpooledFile } from './spooled-file';

/* oxlint-disable-next-line typescript/require-await -- a stream of chunks */
async function* chunksOf(...texts: string[]): AsyncGenerator<Buffer, void, undefined> {
  for (const text of texts) yield Buffer.from(text);
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('a body that arrives while it is read', () => {
  const withKey = { 'idempotency-key': 'k', 'content-type': 'Text/Plain; charset=utf-8' };
  const incomingOf = (chunks: AsyncIterable<Buffer>) =>
    new IncomingRequest(withKey, chunks, () => SpooledFile.create());

  it('is hashed as it arrives', async () => {
    const incoming = incomingOf(chunksOf('one', 'two'));
    const read: string[] = [];
    for await (const chunk of incoming.bytes) read.push(chunk.toString());
    expect([read, incoming.mediaType]).toEqual([['one', 'two'], 'text/plain']);
    expect(await incoming.sha256()).toBe(sha256('onetwo'));
  });

  it('is written to a file', async () => {
    const incoming = incomingOf(chunksOf('one', 'two'));
    const file = await incoming.spool();
    expect([(await file.read()).toString(), file.sha256]).toEqual(['onetwo', await incoming.sha256()]);
    await file.close();
  });

  it('is read to its end if only its digest is requested', async () => {
    expect(await incomingOf(chunksOf('one', 'two')).sha256()).toBe(sha256('onetwo'));
    expect(await incomingOf(chunksOf()).sha256()).toBe(sha256(''));
  });

  it('has no digest if it was not read to its end', async () => {
    const incoming = incomingOf(chunksOf('one', 'two'));
    const chunks = incoming.bytes[Symbol.asyncIterator]();
    await chunks.next();
    await chunks.return?.();
    await expect(incoming.sha256()).rejects.toThrow('not read to its end');
  });

  it('throws the error that interrupts it', async () => {
    const broken = (async function* (): AsyncGenerator<Buffer, void, undefined> {
      yield* chunksOf('one');
      throw new Error('gone');
    })();
    await expect(incomingOf(broken).sha256()).rejects.toThrow('gone');
  });
});
