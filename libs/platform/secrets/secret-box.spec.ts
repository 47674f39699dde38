import { randomBytes } from 'node:crypto';
import { SealedSecretError, SecretBox, SecretKeys } from '#platform/secrets';

const boxOf = (key: Buffer) => new SecretBox(new SecretKeys({ SECRETS_KEY: key.toString('base64') }));

describe('SecretBox', () => {
  const key = randomBytes(32);
  const box = boxOf(key);

  it('opens a secret that another process with the same key has sealed', () => {
    const sealed = box.seal('pässword ✓', 'api:1');
    expect(boxOf(key).open(sealed, 'api:1')).toBe('pässword ✓');
  });

  it('hides the secret, and seals it differently each time', () => {
    const sealed = box.seal('hunter2', 'api:1');
    expect(Buffer.from(sealed.split('.')[2]!, 'base64url').toString('latin1')).not.toContain('hunter2');
    expect(box.seal('hunter2', 'api:1')).not.toBe(sealed);
  });

  it('refuses to open a secret for another use, so that it is useless in another row', () => {
    expect(() => box.open(box.seal('hunter2', 'api:1'), 'api:2')).toThrow(SealedSecretError);
  });

  it('refuses to open a secret with a single changed bit', () => {
    const [version, id, text] = box.seal('hunter2', 'api:1').split('.');
    const body = Buffer.from(text!, 'base64url');
    for (let at = 0; at < body.length; at++) {
      const altered = Buffer.from(body);
      altered[at]! ^= 1;
      expect(() => box.open(`${version}.${id}.${altered.toString('base64url')}`, 'api:1')).toThrow(
        SealedSecretError,
      );
    }
    expect(() => box.open(`${version}.${id}.`, 'api:1')).toThrow(SealedSecretError);
    expect(() => box.open('hunter2', 'api:1')).toThrow(SealedSecretError);
  });

  it('recognizes a secret that was sealed under another key', () => {
    const sealed = boxOf(randomBytes(32)).seal('hunter2', 'api:1');
    expect(() => box.open(sealed, 'api:1')).toThrow('sealed under another SECRETS_KEY');
  });

  it('compares a sealed secret with another, and treats one that cannot be opened as different', () => {
    const sealed = box.seal('hunter2', 'api:1');
    expect(box.isSame(sealed, 'hunter2', 'api:1')).toBe(true);
    expect(box.isSame(sealed, 'hunter3', 'api:1')).toBe(false);
    expect(box.isSame(sealed, 'hunter2', 'api:2')).toBe(false);
    expect(box.isSame(null, 'hunter2', 'api:1')).toBe(false);
  });

  it('requires SECRETS_KEY, with an error that names it', () => {
    expect(() => new SecretKeys({ SECRETS_KEY: undefined })).toThrow(/^SECRETS_KEY is required/);
    expect(() => new SecretKeys({ SECRETS_KEY: 'AAAA' })).toThrow(/^SECRETS_KEY: must be 32 bytes/);
  });

  it('derives a different key for each purpose', () => {
    const keys = new SecretKeys({ SECRETS_KEY: key.toString('base64') });
    expect(keys.mac('a', 'value')).not.toEqual(keys.mac('b', 'value'));
    expect(keys.mac('a', 'value')).toEqual(keys.mac('a', 'value'));
    expect(keys.id).not.toContain(key.toString('hex').slice(0, 8));
  });
});
