import { generateKeyPairSync } from 'node:crypto';
import {
  expectFault,
  type Item,
  itemOf,
  packageOf,
  payloadOf,
  type Result,
  run,
  signed,
} from './verify-package.fixture';

describe('verify-package --jwks', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x } = publicKey.export({ format: 'jwk' });
  const jwk = { kty: 'OKP', crv: 'Ed25519', x, kid: 'key_1', use: 'sig', alg: 'EdDSA', org_id: 'org_1' };
  const other = generateKeyPairSync('ed25519');
  const es256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwks = { keys: [{ ...es256.publicKey.export({ format: 'jwk' }), kid: 'token', alg: 'ES256' }, jwk] };
  const header = { alg: 'EdDSA', typ: 'store-release+jws', kid: 'key_1' };
  const ARGS = ['p.tar.gz', '--item', 'item.json', '--jwks', 'jwks.json'];

  async function check(
    signatureOf: (item: Item) => unknown,
    keys: unknown = jwks,
    change: (item: Item) => void = () => undefined,
    args: string[] = [],
  ): Promise<Result> {
    const archive = await packageOf();
    const item = itemOf(archive);
    change(item);
    item.signature = signatureOf(item);
    return run({ 'p.tar.gz': archive, 'item.json': item, 'jwks.json': keys }, [...ARGS, ...args]);
  }

  const good = (item: Item): string => signed(payloadOf(item), privateKey, header);

  it("verifies the publisher's signature, regardless of its age", async () => {
    const result = await check(good);
    expect(result).toMatchObject({ code: 0, errors: '' });
    expect(result.output).toContain('p.tar.gz is verified: 6 files including manifest.json, 2 components.');
    expect(result.output).toContain('Signed by the publisher with the key key_1.');
    expect(result.output).not.toContain('was not checked');
    const renamed = await check(good, jwks, (item) => (item.version_label = null));
    expect(renamed.code).toBe(0);
  });

  it('prints the result as JSON', async () => {
    const result = await check(good, jwks, undefined, ['--json']);
    expect(JSON.parse(result.output)).toEqual({
      verified: true,
      package: { file_count: 6, sha256: expect.any(String), size_bytes: expect.any(Number) },
      signed_by: 'key_1',
      faults: [],
    });
    const failed = await check(() => null, jwks, undefined, ['--json']);
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.output)).toMatchObject({
      verified: false,
      signed_by: null,
      faults: [{ where: 'signature', what: 'is missing. The item is not signed' }],
    });
  });

  const by = (key: typeof privateKey, head: object) => (item: Item) => signed(payloadOf(item), key, head);
  it.each<[string, string, (item: Item) => unknown, unknown?]>([
    ['no signature', 'is missing', () => undefined],
    ['a signature that is no text', 'is missing', () => ({})],
    ['something else', 'is not a compact JWS', () => 'a.b'],
    ['a fourth part', 'is not a compact JWS', (item) => `${good(item)}.a`],
    ['padding', 'is not a compact JWS', (item) => `${good(item)}==`],
    ['a payload that is no object', 'with a JSON payload', () => signed('text', privateKey, header)],
    ['alg none', 'has the algorithm "none"', (item) => good(item).replace(/^[^.]+/, encode({ alg: 'none' }))],
    ['an empty signature', 'does not match the key', (item) => good(item).replace(/[^.]+$/, '')],
    [
      'another algorithm',
      'has the algorithm "ES256"',
      by(es256.privateKey, { ...header, alg: 'ES256', kid: 'token' }),
    ],
    ['a key for tokens', 'which is not an Ed25519 key', by(privateKey, { ...header, kid: 'token' })],
    ['another type', 'has the type "JWT"', by(privateKey, { ...header, typ: 'JWT' })],
    ['critical extensions', 'has extensions', by(privateKey, { ...header, crit: ['exp'] })],
    [
      'an unknown kid',
      'was made with the key "key_2", which is not in the key set',
      by(privateKey, { ...header, kid: 'key_2' }),
    ],
    ['no kid', 'does not name the key', by(privateKey, { alg: 'EdDSA', typ: header.typ })],
    ['another key', 'does not match the key "key_1"', by(other.privateKey, header)],
    [
      'another payload',
      'does not match the key',
      (item) => good(item).replace(/\.[^.]+\./, `.${encode({ ...payloadOf(item), name: 'Thief' })}.`),
    ],
    [
      'a kid twice in the set',
      'which is in the key set more than once',
      good,
      { keys: [jwk, { ...jwk, org_id: 'org_2' }] },
    ],
    [
      'a key of another organization',
      'of "org_2", not with a key of the publisher',
      good,
      { keys: [{ ...jwk, org_id: 'org_2' }] },
    ],
    ['a key of nobody', 'of "undefined"', good, { keys: [{ ...jwk, org_id: undefined }] }],
    ['an invalid key', 'does not match', good, { keys: [{ ...jwk, x: 'AAAA' }] }],
    ['no key set', 'which is not in the key set', good, []],
  ])('rejects %s', async (_, fault, signatureOf, keys = jwks) => {
    expectFault(await check(signatureOf, keys), 'The signature ', fault);
  });

  it.each(Object.keys(payloadOf(itemOf(Buffer.alloc(0)))))(
    'refuses a signature for another %s',
    async (member) => {
      for (const value of [undefined, 'other', 7]) {
        const result = await check((item) =>
          signed({ ...payloadOf(item), [member]: value }, privateKey, header),
        );
        expectFault(result, `The signature is for the ${member} "${value}"`);
      }
    },
  );
});

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
