import { randomBytes } from 'node:crypto';
import { KeyRing, SealedColumn, SealedSecretError, SecretBox, SecretKeys } from '#platform/secrets';

const ringOf = (...keys: Buffer[]) =>
  new KeyRing({ SECRETS_KEY: undefined, SECRETS_KEYS: keys.map((key) => key.toString('base64')) });
const boxOf = (...keys: Buffer[]) => new SecretBox(ringOf(...keys));

const COLUMN = new SealedColumn('things', 'secret', 'thing_id');
const ONE = COLUMN.of('1');
const TWO = COLUMN.of('2');

describe('SecretBox', () => {
  const key = randomBytes(32);
  const box = boxOf(key);

  it('opens a secret that another process with the same key has sealed', () => {
    const sealed = box.seal('pässword ✓', ONE);
    expect(boxOf(key).open(sealed, ONE)).toBe('pässword ✓');
  });

  it('hides the secret, and seals it differently each time', () => {
    const sealed = box.seal('hunter2', ONE);
    expect(Buffer.from(sealed.split('.')[2]!, 'base64url').toString('latin1')).not.toContain('hunter2');
    expect(box.seal('hunter2', ONE)).not.toBe(sealed);
  });

  it('refuses to open a secret for another row or column, so that a copy of it is useless', () => {
    const sealed = box.seal('hunter2', ONE);
    expect(() => box.open(sealed, TWO)).toThrow(SealedSecretError);
    const other = new SealedColumn('things', 'other', 'thing_id').of('1');
    expect(() => box.open(sealed, other)).toThrow(SealedSecretError);
  });

  it('refuses to open a secret with a single changed bit', () => {
    const [version, id, text] = box.seal('hunter2', ONE).split('.');
    const body = Buffer.from(text!, 'base64url');
    for (let at = 0; at < body.length; at++) {
      const altered = Buffer.from(body);
      altered[at]! ^= 1;
      expect(() => box.open(`${version}.${id}.${altered.toString('base64url')}`, ONE)).toThrow(
        SealedSecretError,
      );
    }
    expect(() => box.open(`${version}.${id}.`, ONE)).toThrow(SealedSecretError);
    expect(() => box.open('hunter2', ONE)).toThrow(SealedSecretError);
  });

  it('compares a sealed secret with another, and treats one that cannot be opened as different', () => {
    const sealed = box.seal('hunter2', ONE);
    expect(box.isSame(sealed, 'hunter2', ONE)).toBe(true);
    expect(box.isSame(sealed, 'hunter3', ONE)).toBe(false);
    expect(box.isSame(sealed, 'hunter2', TWO)).toBe(false);
    expect(box.isSame(null, 'hunter2', ONE)).toBe(false);
  });

  it('opens secrets of every key in its ring, and names the key of any other', () => {
    const other = randomBytes(32);
    const sealed = boxOf(other).seal('hunter2', ONE);
    expect(boxOf(key, other).open(sealed, ONE)).toBe('hunter2');
    const [id] = ringOf(other).ids;
    expect(() => box.open(sealed, ONE)).toThrow(`sealed with the key ${id}, which is not in SECRETS_KEYS`);
  });
});

describe('KeyRing', () => {
  const [newer, older] = [randomBytes(32), randomBytes(32)];

  it('seals with the newest key, until it learns that another one is in use', () => {
    const ring = ringOf(newer, older);
    const box = new SecretBox(ring);
    expect(boxOf(newer).open(box.seal('hunter2', ONE), ONE)).toBe('hunter2');
    ring.sealWith(ringOf(older).sealingId);
    expect(boxOf(older).open(box.seal('hunter2', ONE), ONE)).toBe('hunter2');
  });

  it('refuses a key that it does not hold, in one sentence that names the keys by their ids', () => {
    const ring = ringOf(newer);
    const [missing] = ringOf(older).ids;
    expect(() => ring.check([...ring.ids, missing!])).toThrow(
      `The secrets in the database are encrypted with the key ${missing}, which SECRETS_KEYS does not hold (it holds ${ring.ids[0]}); add that key`,
    );
    expect(() => ring.sealWith(missing!)).toThrow('which SECRETS_KEYS does not hold');
    expect(ring.sealingId).toBe(ring.ids[0]);
  });

  it('identifies its keys by hashes, which anybody who has a key can compute', () => {
    // printf AQEB…AQE= | base64 -d | sha256sum | cut -c-16
    expect(ringOf(Buffer.alloc(32, 1)).ids).toEqual(['72cd6e8422c407fb']);
  });

  it('is one key with SECRETS_KEY, and requires at least one', () => {
    const one = new KeyRing({ SECRETS_KEY: newer.toString('base64'), SECRETS_KEYS: undefined });
    expect(one.ids).toEqual(ringOf(newer).ids);
    const none = { SECRETS_KEY: undefined, SECRETS_KEYS: undefined };
    expect(() => new KeyRing(none)).toThrow(/^SECRETS_KEYS is required/);
    expect(() => new KeyRing({ ...none, SECRETS_KEYS: ['AAAA'] })).toThrow(
      /^SECRETS_KEYS: must be keys of 32 bytes/,
    );
  });
});

describe('SecretKeys', () => {
  it('derive a different key for each purpose', () => {
    const keys = new SecretKeys(randomBytes(32));
    expect(keys.mac('a', 'value')).not.toEqual(keys.mac('b', 'value'));
    expect(keys.mac('a', 'value')).toEqual(keys.mac('a', 'value'));
  });
});
