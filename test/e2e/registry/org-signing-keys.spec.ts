import { compactVerify, type CryptoKey, decodeProtectedHeader, importJWK, type JWK } from 'jose';
import { newId } from '#platform/ids';
import { SecretBox } from '#platform/secrets';
import {
  type ApiClient,
  createTestApp,
  newOrganization,
  type TestApp,
  TestIssuer,
  type TestOrganization,
} from '#testing';
import { ORG_SIGNING_KEY_SECRET, OrgSigningService } from '../../../src/registry';
import { ME } from './authentication.harness';
import { JwksServer } from './jwks-server';

const KEYS = '/registry/v1/org/signing-keys';
const JWKS = '/.well-known/jwks.json';
const TYP = 'store-release+jws';

interface Published extends JWK {
  kid: string;
  org_id?: string;
}

describe('the signing keys of an organization', () => {
  let app: TestApp;
  let org: TestOrganization;
  let admin: ApiClient;
  beforeAll(async () => {
    app = await createTestApp();
  });
  beforeEach(async () => {
    org = await newOrganization(app);
    admin = await org.member('admin');
  });
  afterAll(() => app.close());

  const publishedBy = async (orgId: string): Promise<Published[]> => {
    const { body } = await app.api().get<{ keys: Published[] }>(JWKS);
    return body.keys.filter((key) => key.org_id === orgId);
  };
  const create = async (body?: object): Promise<string> => {
    const made = await admin.post<{ kid: string }>(KEYS, body);
    expect(made.status).toBe(201);
    return made.body.kid;
  };
  const sign = (payload: object = { name: 'release' }) =>
    app.get(OrgSigningService).sign(org.scope, payload, TYP);
  const signer = async (): Promise<string | undefined> => {
    const jws = await sign();
    return jws === null ? undefined : decodeProtectedHeader(jws).kid;
  };

  it('are optional: without a key, nothing is signed', async () => {
    expect(await sign()).toBeNull();
    expect(await publishedBy(org.orgId)).toEqual([]);
  });

  it('sign with Ed25519, and everyone can verify with the published key', async () => {
    const made = await admin.post(KEYS, { name: 'releases' });
    expect(made.status).toBe(201);
    const { kid } = made.body as { kid: string };
    expect(made.headers.get('location')).toBe(`${KEYS}/${kid}`);
    expect(made.body).toMatchObject({
      name: 'releases',
      algorithm: 'EdDSA',
      is_current: true,
      revoked_at: null,
    });
    const [key, ...others] = await publishedBy(org.orgId);
    expect(others).toEqual([]);
    const x = (made.body as { public_key: string }).public_key;
    const jwk = { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA', org_id: org.orgId };
    expect(key).toEqual(jwk);

    const jws = (await sign({ name: 'größe', size_bytes: 7 }))!;
    const verified = await compactVerify(jws, await importJWK(key!, 'EdDSA'));
    expect(verified.protectedHeader).toEqual({ alg: 'EdDSA', typ: TYP, kid });
    expect(Buffer.from(verified.payload).toString()).toBe('{"name":"größe","size_bytes":7}');
  });

  it('rotate: the newest signs, and earlier ones stay published', async () => {
    const first = await create();
    const early = (await sign())!;
    const second = await create();
    expect(await signer()).toBe(second);
    const published = await publishedBy(org.orgId);
    expect(published.map(({ kid }) => kid)).toEqual([first, second]);
    await compactVerify(early, await importJWK(published[0]!, 'EdDSA'));
    const { body } = await admin.get<{ items: { kid: string; is_current: boolean }[] }>(KEYS);
    expect(body.items.map(({ kid, is_current }) => [kid, is_current])).toEqual([
      [second, true],
      [first, false],
    ]);
  });

  it('are no longer published once revoked, and then the newest other key signs', async () => {
    const [first, second, third] = [await create(), await create(), await create()];
    const revoked = await admin.post(`${KEYS}/${third}/revoke`);
    expect([revoked.status, revoked.body]).toEqual([200, expect.objectContaining({ is_current: false })]);
    expect(await signer()).toBe(second);
    const again = await admin.post(`${KEYS}/${third}/revoke`);
    expect([again.status, again.body]).toEqual([200, revoked.body]);
    await admin.post(`${KEYS}/${first}/revoke`);
    expect((await publishedBy(org.orgId)).map(({ kid }) => kid)).toEqual([second]);
    await admin.post(`${KEYS}/${second}/revoke`);
    expect(await signer()).toBeUndefined();
    expect(await publishedBy(org.orgId)).toEqual([]);
    expect((await admin.get(`${KEYS}/${first}`)).body).toMatchObject({ revoked_at: expect.any(String) });
    expect((await admin.post(`${KEYS}/${newId('sig')}/revoke`)).status).toBe(404);
  });

  it('are created once if a request without a body is repeated with its Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'once' };
    const [first, second] = [await admin.post(KEYS, undefined, key), await admin.post(KEYS, undefined, key)];
    expect([first.status, second.status, second.body]).toEqual([201, 201, first.body]);
    expect((await admin.post(KEYS, { name: 'other' }, key)).status).toBe(422);
    expect(await publishedBy(org.orgId)).toHaveLength(1);
  });

  it('are limited to ten unrevoked keys, even if created concurrently', async () => {
    const answers = await Promise.all(Array.from({ length: 14 }, () => admin.post(KEYS)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused).toHaveLength(4);
    expect(refused[0]!.body).toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining('at most 10 signing keys'),
    });
    const kid = await signer();
    await admin.post(`${KEYS}/${kid}/revoke`);
    await create();
  });

  it('are managed by admins of the whole organization, and visible to its members', async () => {
    const owner = await org.as('owner');
    const body = { name: 'bound', roles: ['admin'], workspace_ids: [org.workspaceId] };
    const account = await owner.post('/registry/v1/service-accounts', body);
    const key = await owner.post(`${account.headers.get('location')}/keys`, { name: 'key' });
    const bound = app.api(key.body.key as string);
    const kid = await create();
    for (const client of [bound, bound.in(org.workspaceId), await org.member('editor', 'publisher')]) {
      expect((await client.post(KEYS)).status).toBe(403);
      expect((await client.post(`${KEYS}/${kid}/revoke`)).status).toBe(403);
    }
    expect((await (await org.member('viewer')).get(`${KEYS}/${kid}`)).status).toBe(200);
    expect((await app.api().get(KEYS)).status).toBe(401);
  });

  it('are recorded in the audit log, with their names', async () => {
    const kid = await create({ name: 'releases' });
    await admin.post(`${KEYS}/${kid}/revoke`);
    await admin.post(`${KEYS}/${kid}/revoke`);
    const { body } = await admin.get(`/registry/v1/audit-log?resource_type=signing_key&resource_id=${kid}`);
    expect(body.items).toMatchObject([
      { action: 'revoke', changes: [{ member: 'name', after: 'releases' }] },
      { action: 'create', changes: [{ member: 'name', after: 'releases' }] },
    ]);
  });

  const privateJwkOf = async (kid: string): Promise<JWK | null> => {
    const [row] = await app.database.query<{ private_jwk: string | null }>(
      `SELECT private_jwk FROM org_signing_keys WHERE kid = $1`,
      [kid],
    );
    if (row!.private_jwk === null) return null;
    expect(row!.private_jwk).toMatch(/^v1\.[0-9a-f]{16}\.[\w-]+$/);
    return JSON.parse(app.get(SecretBox).open(row!.private_jwk, ORG_SIGNING_KEY_SECRET.of(kid))) as JWK;
  };

  it('have private keys that are stored encrypted, never shown, and deleted when revoked', async () => {
    const kid = await create({ name: 'releases' });
    const { d } = (await privateJwkOf(kid))!;
    expect(d).toMatch(/^[\w-]{43}$/);
    const log = '/registry/v1/audit-log?resource_type=signing_key';
    for (const path of [KEYS, `${KEYS}/${kid}`, JWKS, log]) {
      expect(JSON.stringify((await admin.get(path)).body)).not.toContain(d);
    }
    await admin.post(`${KEYS}/${kid}/revoke`);
    expect(await privateJwkOf(kid)).toBeNull();
  });

  describe('as signers of tokens', () => {
    it('are rejected for tokens of this service', async () => {
      const kid = await create();
      const { key: apiKey } = await org.serviceAccount('viewer');
      const exchanged = await app.api().post('/registry/v1/tokens', { api_key: apiKey });
      const [, claims] = (exchanged.body.access_token as string).split('.');
      const payload = JSON.parse(Buffer.from(claims!, 'base64url').toString()) as Record<string, unknown>;
      const key = (await importJWK((await privateJwkOf(kid))!, 'EdDSA')) as CryptoKey;
      const issuer = await TestIssuer.create('', { kid });
      const codes = [];
      for (const header of [
        { alg: 'EdDSA', kid },
        { alg: 'EdDSA', kid, typ: TYP },
        { alg: 'EdDSA', kid: undefined },
      ]) {
        const { status, body } = await app.api(await issuer.issueToken(payload, { header, key })).get(ME);
        codes.push([status, (body as { code: string }).code]);
      }
      expect(codes).toEqual(codes.map(() => [401, 'alg_not_allowed']));
      // the algorithm of this service, and the kid of the organization
      const es256 = await app.api(await issuer.issueToken({ ...payload, jti: 'x' })).get(ME);
      expect([es256.status, es256.body]).toEqual([401, expect.objectContaining({ code: 'unknown_key' })]);
      // a signature in the form of those of releases
      const jws = (await app.get(OrgSigningService).sign(org.scope, payload, 'at+jwt'))!;
      expect((await app.api(jws).get(ME)).status).toBe(401);
    });

    it('are rejected for tokens of a trusted service, whose other keys work', async () => {
      const kid = await create();
      for (let at = 0; at < 9; at++) await create();
      const key = (await importJWK((await privateJwkOf(kid))!, 'EdDSA')) as CryptoKey;
      const server = await JwksServer.start();
      const idp = await TestIssuer.create('https://sibling.test');
      const { body } = await app.api().get<{ keys: Published[] }>(JWKS);
      // more keys of organizations than a set of token keys may contain
      const filler = Array.from({ length: 5_000 }, (_, at) => ({ ...body.keys.at(-1)!, kid: `sig_${at}` }));
      server.keys = [...body.keys, idp.publicJwk, ...filler];
      const entry = idp.entry({ jwks: undefined, jwks_uri: server.url, algorithms: ['ES256', 'EdDSA'] });
      const trusting = await createTestApp({ issuers: [entry] });
      try {
        const claims = { org_id: (await newOrganization(trusting)).orgId, user_id: 'ada', sub: 'ada' };
        expect((await trusting.api(await idp.issueToken(claims)).get(ME)).status).toBe(200);
        const forged = await idp.issueToken(claims, { header: { alg: 'EdDSA', kid }, key });
        const answer = await trusting.api(forged).get(ME);
        expect([answer.status, answer.body]).toEqual([401, expect.objectContaining({ code: 'unknown_key' })]);
      } finally {
        await trusting.close();
        await server.stop();
      }
    });
  });
});

describe('the signing keys of all organizations', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  it('are limited to 5,000, so that the key set stays below 1 MiB', async () => {
    const org = await newOrganization(app);
    const admin = await org.member('admin');
    const ids = Array.from({ length: 4_999 }, () => [newId('sig'), newId('org')]);
    await app.database.query(
      `INSERT INTO org_signing_keys (kid, org_id, x, private_jwk, created_by)
       SELECT one ->> 0, one ->> 1, repeat('x', 43), secret, 'test' FROM jsonb_array_elements($1::jsonb) one, installation`,
      [JSON.stringify(ids)],
    );
    await app.database.query('UPDATE org_signing_key_set SET generation = 4999, key_count = 4999');
    expect((await admin.post(KEYS)).status).toBe(201);
    const refused = await (await (await newOrganization(app)).member('owner')).post(KEYS);
    expect([refused.status, refused.body]).toEqual([
      409,
      expect.objectContaining({ detail: expect.stringContaining('has 5000 signing keys') }),
    ]);
    const all = await app.api().get<{ keys: Published[] }>(JWKS);
    expect(all.body.keys).toHaveLength(5_001);
    // keys for tokens come first, for clients that only read the beginning
    expect(all.body.keys[0]).toMatchObject({ alg: 'ES256' });
    expect(Buffer.byteLength(JSON.stringify(all.body))).toBeLessThan(1024 * 1024);
    const notModified = await app.api().get(JWKS, { 'if-none-match': all.headers.get('etag')! });
    expect(notModified.status).toBe(304);

    const { kid } = all.body.keys.at(-1)!;
    expect((await admin.post(`${KEYS}/${kid}/revoke`)).status).toBe(200);
    expect((await admin.post(KEYS)).status).toBe(201);
  });
});
