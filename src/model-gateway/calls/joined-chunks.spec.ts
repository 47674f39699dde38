import { JoinedChunks } from './joined-chunks';

describe('joined chunks', () => {
  it('are all bytes in their order, whatever their sizes', () => {
    const sizes = [0, 1, 65_535, 1, 65_536, 3, 200_000, 0, 65_530, 10];
    const chunks = sizes.map((size, at) => Buffer.alloc(size, at + 1));
    const joined = new JoinedChunks();
    chunks.forEach((chunk) => joined.add(chunk));
    expect(joined.size).toBe(sizes.reduce((sum, one) => sum + one));
    expect(joined.joined().equals(Buffer.concat(chunks))).toBe(true);
  });

  it('of single bytes take little more memory than their bytes', () => {
    const joined = new JoinedChunks();
    const source = Buffer.alloc(64 * 1024, 'x');
    const before = process.memoryUsage();
    for (let at = 0; at < 4_000_000; at++) joined.add(source.subarray(at % 65_536, (at % 65_536) + 1));
    const after = process.memoryUsage();
    expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(150_000_000);
    expect(joined.joined()).toHaveLength(4_000_000);
  });
});
