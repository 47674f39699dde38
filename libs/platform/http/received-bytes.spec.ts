import { randomBytes } from 'node:crypto';
import { ReceivedBytes } from './received-bytes';

describe('bytes that were received', () => {
  it('are those that came, in their order, whatever the pieces', () => {
    const bytes = randomBytes(100_000);
    for (const length of [1, 1000, 40_000, 100_000]) {
      const received = new ReceivedBytes();
      const full: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += length) {
        const block = received.add(bytes.subarray(at, at + length));
        if (block) full.push(block);
      }
      const last = received.end();
      if (last) full.push(last);
      expect(Buffer.concat(full)).toEqual(bytes);
      expect(received.whole()).toEqual(bytes);
      // single bytes are not kept as so many objects
      expect(received.blocks.length).toBeLessThanOrEqual(7);
    }
  });

  it('may be none', () => {
    const received = new ReceivedBytes();
    expect(received.end()).toBeUndefined();
    expect(received.whole()).toEqual(Buffer.alloc(0));
  });
});
