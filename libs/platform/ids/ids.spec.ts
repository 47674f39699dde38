import { firstIdAt, isId, newId } from '#platform/ids';

describe('identifiers', () => {
  it('are a prefix and 26 characters of base32, as the TypeID specification defines', () => {
    expect(newId('ds')).toMatch(/^ds_[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}$/);
  });

  it('are told from names', () => {
    const id = newId('ds');
    expect(isId('ds', id)).toBe(true);
    const others = [
      `${id}0`,
      id.slice(0, -1),
      id.toUpperCase(),
      id.replace('_', '-'),
      newId('scr'),
      `ds_${'u'.repeat(26)}`,
    ];
    expect(others.filter((text) => isId('ds', text))).toEqual([]);
  });

  it('contain a UUIDv7 of the current time', () => {
    const before = Date.now();
    const [, encoded] = newId('res').split('_');
    let value = 0n;
    for (const char of encoded!) {
      value = value * 32n + BigInt('0123456789abcdefghjkmnpqrstvwxyz'.indexOf(char));
    }
    const hex = value.toString(16).padStart(32, '0');
    expect(hex[12]).toBe('7');
    expect('89ab').toContain(hex[16]);
    const millis = Number.parseInt(hex.slice(0, 12), 16);
    expect(millis).toBeGreaterThanOrEqual(before);
    expect(millis).toBeLessThanOrEqual(Date.now() + 50);
  });

  it('sort by creation, even many within a millisecond, and never repeat', () => {
    const ids = Array.from({ length: 50_000 }, () => newId('res'));
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('are never below the first id of their time', () => {
    const before = Date.now();
    const id = newId('rec');
    expect(firstIdAt('rec', before) <= id).toBe(true);
    expect(firstIdAt('rec', Date.now() + 1000) > id).toBe(true);
    expect(firstIdAt('rec', -1)).toBe(`rec_${'0'.repeat(26)}`);
    expect(firstIdAt('rec', 2 ** 50)).toBe(firstIdAt('rec', 2 ** 48 - 1));
  });
});
