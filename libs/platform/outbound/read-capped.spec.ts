import { Readable } from 'node:stream';
import { readCapped } from './read-capped';

describe('readCapped', () => {
  it('reads a body of exactly the maximum size', async () => {
    expect(await readCapped(Readable.from([Buffer.from('ab'), Buffer.from('é')]), 4)).toBe('abé');
  });

  it('stops reading a larger body and destroys its stream', async () => {
    const body = Readable.from([Buffer.from('abc'), Buffer.from('de'), Buffer.from('f')]);
    expect(await readCapped(body, 4)).toBeUndefined();
    expect(body.destroyed).toBe(true);
  });
});
