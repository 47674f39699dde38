import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { ownApp, newOrganization, type TestOrganization } from '#testing';
import { ME } from './authentication.harness';

const TOKENS = '/registry/v1/tokens';
const REVOKE = '/registry/v1/tokens/revoke';

interface TokenBody {
  access_token: string;
  token_type: string;
  expires_in: number;
}

describe('the exchange of a key for a token', () => {
  const app = ownApp({ env: { PUBLIC_URL: 'https://registry.test/' } });
  let org: TestOrganization;
  beforeAll(async () => {
    org = await newOrganization(app);
  });

  const basic = (id: string, secret: string) => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  });
  const form = (members: Record<string, string>) => new URLSearchParams(members);
  const grant = { grant_type: 'client_credentials' };

  it('accepts the key as an OAuth 2 form and as JSON', async () => {
    const { key, serviceAccountId } = await org.serviceAccount('viewer');
    const named = { client_id: serviceAccountId, client_secret: key };
    for (const [body, headers] of [
      [form({ ...grant, ...named })],
      [form({ ...grant, client_secret: key })],
      [form(grant), basic(serviceAccountId, key)],
      [form(grant), basic('', key)],
      [form(grant), { authorization: `Bearer ${key}` }],
      [{ ...grant, ...named }],
      [{ ...grant, api_key: key }],
      [{ api_key: key }],
    ] as [unknown, Record<string, string>?][]) {
      const answer = await app.api().post<TokenBody>(TOKENS, body, headers);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        access_token: expect.any(String) as string,
        token_type: 'Bearer',
        expires_in: 3600,
      });
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const me = await app.api(answer.body.access_token).get(ME);
      expect(me.body).toMatchObject({ principal: { principal_id: serviceAccountId } });
    }
  });

  it('returns a token that verifies against the published keys', async () => {
    const { key, serviceAccountId } = await org.serviceAccount('admin');
    const { body } = await app.api().post<TokenBody>(TOKENS, { api_key: key });
    const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`));
    const { payload, protectedHeader } = await jwtVerify(body.access_token, keys, {
      issuer: 'https://registry.test',
      audience: 'public-api',
      algorithms: ['ES256'],
    });
    expect(protectedHeader).toMatchObject({ typ: 'at+jwt' });
    expect(payload).toMatchObject({
      sub: serviceAccountId,
      org_id: org.orgId,
      service_account_id: serviceAccountId,
      principal_type: 'service_account',
    });
    expect(payload.exp! - payload.iat!).toBe(3600);
  });

  it('publishes public keys only', async () => {
    const answer = await app.api().get<{ keys: Record<string, unknown>[] }>('/.well-known/jwks.json');
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
    expect(answer.body.keys.length).toBeGreaterThan(0);
    for (const key of answer.body.keys) {
      expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    }
  });

  it('returns a token that expires with its key', async () => {
    const { serviceAccountId } = await org.serviceAccount('viewer');
    const admin = app.api(await org.token('owner'));
    const made = await admin.post<{ key: string }>(`/registry/v1/service-accounts/${serviceAccountId}/keys`, {
      name: 'short',
      expires_at: new Date(Date.now() + 60_000).toISOString(),
    });
    const { body } = await app.api().post<TokenBody>(TOKENS, { api_key: made.body.key });
    expect(body.expires_in).toBeLessThanOrEqual(60);
    expect(decodeJwt(body.access_token).exp! * 1000).toBeLessThanOrEqual(Date.now() + 60_000);
  });

  it('returns a token with the account’s current roles', async () => {
    const { key, serviceAccountId } = await org.serviceAccount('editor');
    const { body } = await app.api().post<TokenBody>(TOKENS, { api_key: key });
    const admin = app.api(await org.token('owner'));
    await admin.patch(`/registry/v1/service-accounts/${serviceAccountId}`, { roles: ['viewer'] });
    expect((await app.api(body.access_token).get(ME)).body).toMatchObject({ roles: ['viewer'] });
  });

  it.each<[string, (key: string) => [unknown, Record<string, string>?], number, string]>([
    ['no key', () => [form(grant)], 400, 'invalid_request'],
    ['no grant', (key) => [form({ client_secret: key })], 400, 'invalid_request'],
    ['another grant', (key) => [{ grant_type: 'password', api_key: key }], 400, 'invalid_request'],
    ['the key twice', (key) => [{ ...grant, api_key: key, client_secret: key }], 400, 'invalid_request'],
    ['the key twice, once by Basic', (key) => [{ api_key: key }, basic('', key)], 400, 'invalid_request'],
    [
      'two client ids',
      (key) => [form({ ...grant, client_id: 'a' }), basic('b', key)],
      400,
      'invalid_request',
    ],
    [
      'a parameter twice',
      (key) => [new URLSearchParams(`grant_type=client_credentials&client_secret=${key}&client_secret=x`)],
      400,
      'invalid_request',
    ],
    ['a body that is not an object', () => ['[]'], 400, 'invalid_request'],
    ['invalid JSON', () => ['{'], 400, 'invalid_request'],
    ['a key that is not a string', () => [{ api_key: 5 }], 400, 'invalid_request'],
    ['another media type', () => ['x', { 'content-type': 'text/plain' }], 415, 'unsupported_media_type'],
    ['an unknown key', () => [{ api_key: `rsk_${'x'.repeat(43)}` }], 401, 'invalid_api_key'],
    ['a text that is not a key', () => [{ api_key: 'x.y.z' }], 401, 'invalid_api_key'],
    [
      "another's client id",
      (key) => [{ ...grant, client_id: 'sva_other', client_secret: key }],
      401,
      'invalid_api_key',
    ],
    ['a body that is too large', () => [form({ ...grant, x: 'y'.repeat(40_000) })], 413, 'payload_too_large'],
  ])('refuses %s', async (what, make, status, code) => {
    const { key } = await org.serviceAccount('viewer');
    const answer = await app.api().post(TOKENS, ...make(key));
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ code });
    const error = { 400: 'invalid_request', 401: 'invalid_client' }[status];
    const expected = what === 'another grant' ? 'unsupported_grant_type' : error;
    expect((answer.body as { error?: string }).error).toBe(expected);
    expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
  });

  it('returns a challenge with the scheme of the client', async () => {
    const { key, serviceAccountId } = await org.serviceAccount('viewer');
    const unknown = `rsk_${'x'.repeat(43)}`;
    for (const [headers, body, challenge] of [
      [basic(serviceAccountId, unknown), form(grant), 'Basic realm="tokens"'],
      [basic('sva_other', key), form(grant), 'Basic realm="tokens"'],
      [basic(serviceAccountId, 'x.y.z'), grant, 'Basic realm="tokens"'],
      [{ authorization: `Bearer ${unknown}` }, form(grant), 'Bearer error="invalid_token"'],
      [{}, form({ ...grant, client_secret: unknown }), 'Bearer'],
    ] as [Record<string, string>, unknown, string][]) {
      const answer = await app.api().post(TOKENS, body, headers);
      expect(answer.body).toMatchObject({ status: 401, code: 'invalid_api_key', error: 'invalid_client' });
      expect(answer.body.error_description).toMatch(/key/);
      expect(answer.headers.get('www-authenticate')).toBe(challenge);
    }
  });

  it('names a repeated parameter in the problem', async () => {
    const name = `a/b~${'x'.repeat(200)}`;
    const answer = await app.api().post<TokenBody>(
      TOKENS,
      new URLSearchParams([
        [name, '1'],
        [name, '2'],
      ]),
    );
    expect(answer.body).toMatchObject({
      errors: [{ pointer: `/a~1b~0${'x'.repeat(96)}`, detail: 'is sent twice. Send it once' }],
    });
  });

  it('does not exchange tokens', async () => {
    const { key } = await org.serviceAccount('viewer');
    const { body } = await app.api().post<TokenBody>(TOKENS, { api_key: key });
    const again = await app.api().post(TOKENS, { api_key: body.access_token });
    expect(again.body).toMatchObject({ code: 'invalid_api_key' });
  });

  it('does not store its response for replays', async () => {
    const { key } = await org.serviceAccount('viewer');
    const once = { 'idempotency-key': 'again' };
    const [first, second] = [
      await app.api().post<TokenBody>(TOKENS, { api_key: key }, once),
      await app.api().post<TokenBody>(TOKENS, { api_key: key }, once),
    ];
    expect(second.headers.get('idempotency-replayed')).toBeNull();
    expect(second.body.access_token).not.toBe(first.body.access_token);
  });

  it('refuses a revoked key at once', async () => {
    const { key, keyId } = await org.serviceAccount('viewer');
    expect((await app.api(key).get(ME)).status).toBe(200);
    await app.database.query('UPDATE api_keys SET revoked_at = now() WHERE key_id = $1', [keyId]);
    const answer = await app.api().post(TOKENS, { api_key: key });
    expect(answer.body).toMatchObject({ code: 'invalid_api_key' });
  });

  describe('with revocation', () => {
    const exchange = async (key: string): Promise<string> =>
      (await app.api().post<TokenBody>(TOKENS, { api_key: key })).body.access_token;

    it('invalidates tokens once their key is revoked', async () => {
      const { key, keyId, serviceAccountId } = await org.serviceAccount('viewer');
      const token = await exchange(key);
      expect((await app.api(token).get(ME)).status).toBe(200);
      const admin = app.api(await org.token('admin'));
      await admin.post(`/registry/v1/service-accounts/${serviceAccountId}/keys/${keyId}/revoke`);
      expect((await app.api(token).get(ME)).body).toMatchObject({ code: 'token_rejected' });
    });

    it.each([
      ['has expired', `UPDATE api_keys SET expires_at = now() WHERE key_id = $1`, 'token_rejected'],
      ['no longer exists', `DELETE FROM api_keys WHERE key_id = $1`, 'unknown_account'],
    ])('invalidates tokens whose key %s', async (_, change, code) => {
      const { key, keyId } = await org.serviceAccount('viewer');
      const token = await exchange(key);
      await app.database.query(change, [keyId]);
      expect((await app.api(token).get(ME)).body).toMatchObject({ code });
    });

    it('lets owners revoke their tokens, idempotently', async () => {
      const { key } = await org.serviceAccount('runtime');
      for (const body of [(token: string) => form({ token }), (token: string) => ({ token })]) {
        const token = await exchange(key);
        expect((await app.api(token).get(ME)).status).toBe(200);
        const revoked = await app.api(key).post(REVOKE, body(token));
        expect(revoked.status).toBe(200);
        expect(revoked.body).toMatchObject({
          issuer: 'https://registry.test',
          jti: decodeJwt(token).jti,
        });
        expect((await app.api(token).get(ME)).body).toMatchObject({ code: 'token_rejected' });
      }
    });

    it('lets a token revoke itself, by its value and by its jti', async () => {
      const { key } = await org.serviceAccount('runtime');
      const [one, other] = [await exchange(key), await exchange(key)];
      expect((await app.api(one).post(REVOKE, { token: one })).status).toBe(200);
      expect((await app.api(other).post(REVOKE, { jti: decodeJwt(other).jti })).status).toBe(200);
      for (const token of [one, other]) {
        expect((await app.api(token).get(ME)).body).toMatchObject({ code: 'token_rejected' });
      }
    });

    it('lets only admins revoke the tokens of others', async () => {
      const { key } = await org.serviceAccount('runtime');
      const [token, another] = [await exchange(key), await exchange(key)];
      const editor = app.api(await org.token('editor', 'publisher'));
      expect((await editor.post(REVOKE, { token })).body).toMatchObject({
        status: 403,
        code: 'access_denied',
      });
      expect((await editor.post(REVOKE, { jti: decodeJwt(token).jti })).status).toBe(403);
      expect((await app.api(token).get(ME)).status).toBe(200);
      const admin = app.api(await org.token('admin'));
      expect((await admin.post(REVOKE, { token })).status).toBe(200);
      expect((await admin.post(REVOKE, { jti: decodeJwt(another).jti })).status).toBe(200);
      for (const revoked of [token, another]) {
        expect((await app.api(revoked).get(ME)).body).toMatchObject({ code: 'token_rejected' });
      }
    });

    it('lets admins revoke tokens of foreign issuers', async () => {
      const admin = app.api(await org.token('admin'));
      const [one, other] = [await org.token('viewer'), await org.token('viewer')];
      expect((await admin.post(REVOKE, { token: one })).status).toBe(200);
      const named = { issuer: 'https://idp.test', jti: decodeJwt(other).jti };
      const byName = await admin.post(REVOKE, named);
      expect(byName.body).toEqual({ ...named, expires_at: null });
      for (const token of [one, other]) {
        expect((await app.api(token).get(ME)).body).toMatchObject({ code: 'token_rejected' });
      }
    });

    it('does not revoke tokens of another organization', async () => {
      const stranger = await newOrganization(app);
      const token = await exchange((await org.serviceAccount('viewer')).key);
      const owner = app.api(await stranger.token('owner'));
      expect((await owner.post(REVOKE, { token })).body).toMatchObject({ code: 'invalid_request' });
      expect((await owner.post(REVOKE, { jti: decodeJwt(token).jti })).status).toBe(200);
      expect((await app.api(token).get(ME)).status).toBe(200);
    });

    it('lets a platform principal revoke its own token', async () => {
      const token = await app.issuer.issueToken({ sub: 'operator', principal_type: 'platform' });
      expect((await app.api(token).post(REVOKE, { token })).status).toBe(200);
      expect((await app.api(token).get(ME)).body).toMatchObject({ code: 'token_rejected' });
    });

    it.each<[string, unknown]>([
      ['nothing', {}],
      ['both', { token: 'x.y.z', jti: 'x' }],
      ['an invalid token', { token: 'x.y.z' }],
      ['a key', { token: `rsk_${'x'.repeat(43)}` }],
      ['a number', { jti: 5 }],
    ])('rejects a revocation with %s', async (_, body) => {
      const answer = await app.api(await org.token('admin')).post(REVOKE, body);
      expect(answer.body).toMatchObject({ status: 400, code: 'invalid_request' });
    });

    it('rejects the revocation of a token without a jti', async () => {
      const token = await org.tokenOf('someone', { jti: undefined });
      const answer = await app.api(token).post<{ detail: string }>(REVOKE, { token });
      expect(answer.status).toBe(400);
      expect(answer.body.detail).toContain('has no jti');
    });
  });
});
