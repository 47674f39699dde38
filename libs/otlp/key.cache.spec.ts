import { KeyCache } from './key.cache';

describe('KeyCache', () => {
  it('decodes each key once, and never confuses keys', () => {
    // More keys than slots, so that many contend for the same slot.
    const keys = Array.from({ length: 2000 }, (_, index) => `attribute.${index}`);
    const body = Buffer.from([...keys, ...keys].join(''));
    let decoded = 0;
    const cache = new KeyCache(body, (start, end) => {
      decoded += 1;
      return body.toString('utf8', start, end);
    });
    let position = 0;
    const found = [...keys, ...keys].map((key) => cache.get(position, (position += key.length)));
    expect(found).toEqual([...keys, ...keys]);
    decoded = 0;
    for (let repeat = 0; repeat < 3; repeat += 1) {
      expect(cache.get(position - 14, position)).toBe('attribute.1999');
    }
    expect(decoded).toBe(0);
  });

  it('accepts empty and long keys', () => {
    const body = Buffer.from('k'.repeat(300));
    const cache = new KeyCache(body, (start, end) => body.toString('utf8', start, end));
    for (const length of [0, 1, 64, 65, 256, 300]) {
      expect(cache.get(0, length)).toBe('k'.repeat(length));
    }
  });
});
