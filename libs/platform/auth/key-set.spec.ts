import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { setLogLevel } from '#platform/logging';
import { KeySet, type KeySource, REMOTE_RULES } from './key-set';

const keyOf = async (kid?: string, algorithm = 'ES256'): Promise<JWK> => ({
  ...(await exportJWK((await generateKeyPair(algorithm, { extractable: true })).publicKey)),
  kid,
});

/** An issuer whose keys, reachability and clock a test can change. */
class Issuer {
  readings = 0;
  now = 1_000_000;
  reachable = true;
  wait: Promise<void> = Promise.resolve();
  readonly set: KeySet;

  constructor(public keys: unknown) {
    this.set = new KeySet('https://idp', this.read, REMOTE_RULES, () => this.now);
  }

  private readonly read: KeySource = async () => {
    this.readings += 1;
    const { keys, reachable } = this;
    await this.wait;
    if (!reachable) throw new Error('unreachable');
    return { keys };
  };
}

describe("an issuer's keys", () => {
  beforeAll(() => setLogLevel('silent'));

  it('are read once for concurrent tokens', async () => {
    const issuer = new Issuer([await keyOf('a')]);
    const keys = await Promise.all(Array.from({ length: 20 }, () => issuer.set.find('a', 'ES256')));
    expect(new Set(keys).size).toBe(1);
    expect(issuer.readings).toBe(1);
  });

  it('are imported once, not per token', async () => {
    const { set } = new Issuer([await keyOf('a')]);
    const [one, other] = [await set.find('a', 'ES256'), await set.find('a', 'ES256')];
    expect(await one.importFor('ES256')).toBe(await other.importFor('ES256'));
  });

  it('are read again for an unknown key, so that a rotation takes effect immediately', async () => {
    const issuer = new Issuer([await keyOf('a')]);
    await issuer.set.find('a', 'ES256');
    issuer.keys = [await keyOf('b')];
    await expect(issuer.set.find('b', 'ES256')).resolves.toMatchObject({ kid: 'b' });
    expect(issuer.readings).toBe(2);
  });

  it('are read for unknown keys at most once in 30 s', async () => {
    const issuer = new Issuer([await keyOf('a')]);
    await issuer.set.find('a', 'ES256');
    const ask = (kid: string) => issuer.set.find(kid, 'ES256').catch((error: unknown) => error);
    const refusals = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(`made up ${i}`)));
    expect(refusals).toEqual(refusals.map(() => expect.objectContaining({ code: 'unknown_key' })));
    issuer.now += 29_999;
    await ask('another');
    expect(issuer.readings).toBe(2);
    issuer.now += 1;
    await ask('another');
    expect(issuer.readings).toBe(3);
  });

  it('verify all tokens of a new key that arrive while it is fetched', async () => {
    const issuer = new Issuer([await keyOf('a')]);
    await issuer.set.find('a', 'ES256');
    issuer.keys = [await keyOf('b')];
    const keys = await Promise.all(Array.from({ length: 5 }, () => issuer.set.find('b', 'ES256')));
    expect(keys.map(({ kid }) => kid)).toEqual(['b', 'b', 'b', 'b', 'b']);
    expect(issuer.readings).toBe(2);
  });

  it('stay in use when they are stale and the issuer is unreachable', async () => {
    const issuer = new Issuer([await keyOf('a')]);
    await issuer.set.find('a', 'ES256');
    issuer.reachable = false;
    issuer.now += REMOTE_RULES.freshMs;
    await expect(issuer.set.find('a', 'ES256')).resolves.toMatchObject({ kid: 'a' });
    expect(issuer.readings).toBe(2);
    issuer.now += 29_999;
    await issuer.set.find('a', 'ES256');
    expect(issuer.readings).toBe(2);
  });

  it('do not delay callers while an unreachable issuer is retried', async () => {
    const issuer = new Issuer([await keyOf('a')]);
    await issuer.set.find('a', 'ES256');
    issuer.reachable = false;
    issuer.now += REMOTE_RULES.freshMs;
    await issuer.set.find('a', 'ES256');
    issuer.now += 30_000;
    let release: () => void = () => undefined;
    issuer.wait = new Promise((resolve) => (release = resolve));
    await expect(issuer.set.find('a', 'ES256')).resolves.toMatchObject({ kid: 'a' });
    expect(issuer.readings).toBe(3);
    release();
  });

  it('are no longer trusted once the issuer has removed them', async () => {
    const issuer = new Issuer([await keyOf('a'), await keyOf('b')]);
    await issuer.set.find('a', 'ES256');
    issuer.keys = [await keyOf('b')];
    issuer.now += REMOTE_RULES.freshMs;
    await expect(issuer.set.find('a', 'ES256')).rejects.toMatchObject({ code: 'unknown_key' });
  });

  it('make authentication unavailable while none are cached and they cannot be read', async () => {
    const issuer = new Issuer([await keyOf('a')]);
    issuer.reachable = false;
    const unavailable = { code: 'auth_unavailable', status: 503 };
    await expect(issuer.set.find('a', 'ES256')).rejects.toMatchObject(unavailable);
    issuer.reachable = true;
    await expect(issuer.set.find('a', 'ES256')).rejects.toMatchObject(unavailable);
    expect(issuer.readings).toBe(1);
    issuer.now += 1_000;
    await expect(issuer.set.find('a', 'ES256')).resolves.toMatchObject({ kid: 'a' });
  });

  it.each([['no set'], [{}], [null], [{ keys: {} }], [{ keys: Array.from({ length: 101 }, () => ({})) }]])(
    'are not accepted from %j',
    async (answer) => {
      const set = new KeySet('https://idp', () => Promise.resolve(answer), REMOTE_RULES);
      await expect(set.find('a', 'ES256')).rejects.toMatchObject({ code: 'auth_unavailable' });
    },
  );

  it('are chosen by kid, which may be missing if there is a single key', async () => {
    const one = new Issuer([await keyOf('a')]);
    await expect(one.set.find(undefined, 'ES256')).resolves.toMatchObject({ kid: 'a' });
    const two = new Issuer([await keyOf('a'), await keyOf('b')]);
    await expect(two.set.find(undefined, 'ES256')).rejects.toMatchObject({ code: 'unknown_key' });
    const none = new Issuer([]);
    await expect(none.set.find(undefined, 'ES256')).rejects.toMatchObject({ code: 'unknown_key' });
  });

  it('are chosen by algorithm if two have the same kid', async () => {
    const { set } = new Issuer([await keyOf('a', 'RS256'), await keyOf('a', 'EdDSA')]);
    expect((await set.find('a', 'EdDSA')).fits('EdDSA')).toBe(true);
    expect((await set.find('a', 'PS384')).fits('PS384')).toBe(true);
    expect((await set.find('a', 'ES256')).fits('ES256')).toBe(false);
  });

  it('are ignored if they cannot or must not verify a signature', async () => {
    const { n, e } = await keyOf('small', 'RS256');
    const good = await keyOf('good');
    const issuer = new Issuer([
      { kty: 'oct', k: 'c2VjcmV0', kid: 'symmetric' },
      { ...good, d: 'AAAA', kid: 'private' },
      { ...good, use: 'enc', kid: 'encryption' },
      { ...good, key_ops: ['sign'], kid: 'signing' },
      { ...good, x: 'AAAA', kid: 'broken' },
      { ...good, kid: 5 },
      { kty: 'EC', crv: 'secp256k1', x: good.x, y: good.y, kid: 'unknown curve' },
      { kty: 'RSA', n: n!.slice(0, 171), e, kid: '1024 bits' },
      'no key',
      null,
      good,
    ]);
    await expect(issuer.set.find(undefined, 'ES256')).resolves.toMatchObject({ kid: 'good' });
  });
});
