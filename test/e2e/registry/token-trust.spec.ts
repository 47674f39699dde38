import { randomUUID } from 'node:crypto';
import net from 'node:net';
import { newId } from '#platform/ids';
import { createTestApp, newOrganization, TestIssuer } from '#testing';
import { AuthenticationHarness, ME, now } from './authentication.harness';
import { base64url, signRaw } from './raw-token';

describe('authentication', () => {
  let auth: AuthenticationHarness;
  beforeAll(async () => {
    auth = await AuthenticationHarness.start();
  });
  afterAll(() => auth.app.close());

  describe('checks the issuer and the key and', () => {
    it('trusts only configured issuers', async () => {
      const stranger = await TestIssuer.create('https://stranger.test');
      expect(await auth.codeOf(await stranger.issueToken(auth.valid().claims, {}))).not.toBe('ok');
      for (const iss of [
        'https://stranger.test',
        'https://strict.test/',
        'HTTPS://strict.test',
        '',
        undefined,
      ]) {
        const { header, claims } = auth.valid();
        expect(await auth.codeOfRaw({ header, claims: { ...claims, iss } })).toBe('untrusted_issuer');
      }
    });

    it('requires a kid when there are several keys', async () => {
      const { header, claims } = auth.valid();
      expect(await auth.codeOfRaw({ header: { ...header, kid: 'nope' }, claims })).toBe('unknown_key');
      expect(await auth.codeOfRaw({ header: { ...header, kid: undefined }, claims })).toBe('unknown_key');
    });

    it('does not require a kid for one key', async () => {
      const { header, claims } = auth.valid(auth.app.issuer);
      expect(await auth.codeOfRaw({ header: { ...header, kid: undefined }, claims }, auth.app.issuer)).toBe(
        'ok',
      );
    });

    it('does not use one issuer’s key for another’s token', async () => {
      const { header, claims } = auth.valid(auth.strict);
      expect(
        await auth.codeOfRaw({ header: { ...header, kid: auth.app.issuer.kid }, claims }, auth.app.issuer),
      ).toBe('unknown_key');
      expect(await auth.codeOfRaw({ header, claims }, auth.app.issuer)).toBe('signature_invalid');
    });

    it('ignores keys in headers', async () => {
      const forger = await TestIssuer.create(auth.strict.issuer, { kid: auth.strict.kid });
      let wasRequested = false;
      const trap = net.createServer(() => (wasRequested = true));
      await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(trap.address() as net.AddressInfo).port}/jwks.json`;
      const { header, claims } = auth.valid();
      for (const extra of [{ jku: url }, { x5u: url }, { jwk: forger.publicJwk }, { x5c: ['AAAA'] }]) {
        expect(await auth.codeOfRaw({ header: { ...header, ...extra }, claims }, forger)).toBe(
          'signature_invalid',
        );
        expect(await auth.codeOfRaw({ header: { ...header, ...extra }, claims })).toBe('ok');
      }
      trap.close();
      expect(wasRequested).toBe(false);
    });

    it('refuses a changed payload and a missing signature', async () => {
      const { header, claims } = auth.valid();
      const token = await signRaw(auth.strict, header, claims);
      const [head, , signature] = token.split('.');
      const changed = base64url({ ...claims, user_id: 'another' });
      expect(await auth.codeOf(`${head}.${changed}.${signature}`)).toBe('signature_invalid');
      expect(await auth.codeOf(`${head}.${base64url(claims)}.`)).toBe('signature_invalid');
    });
  });

  describe('checks time and audience and', () => {
    it.each<[string, Record<string, number>, string]>([
      ['expired 31 s ago', { exp: -31 }, 'token_expired'],
      ['expired long ago', { exp: -1e9 }, 'token_expired'],
      ['expired 20 s ago, within the tolerated clock skew', { exp: -20 }, 'ok'],
      ['valid in 40 s', { nbf: 40 }, 'token_not_yet_valid'],
      ['valid in 20 s, within the tolerated clock skew', { nbf: 20 }, 'ok'],
      ['issued in 40 s', { iat: 40 }, 'token_not_yet_valid'],
      ['issued in 20 s, within the tolerated clock skew', { iat: 20 }, 'ok'],
    ])('returns the right code for a token %s', async (_, times, code) => {
      const { header, claims } = auth.valid();
      const shifted = Object.fromEntries(Object.entries(times).map(([name, by]) => [name, now() + by]));
      expect(await auth.codeOfRaw({ header, claims: { ...claims, ...shifted } })).toBe(code);
    });

    it.each<[string, Record<string, number>, string]>([
      ['expires in milliseconds by mistake', { exp: Date.now() }, 'ok'],
      ['expires after the last date of JavaScript', { exp: 9e15 }, 'ok'],
      ['expires at the largest number', { exp: Number.MAX_VALUE }, 'ok'],
      ['expired at the least number', { exp: -Number.MAX_VALUE }, 'token_expired'],
      ['is valid from the largest number', { nbf: Number.MAX_VALUE }, 'token_not_yet_valid'],
      ['was issued at the least number', { iat: -Number.MAX_VALUE }, 'ok'],
    ])('accepts every number as a time: a token %s', async (_, times, code) => {
      const { header, claims } = auth.valid();
      expect(await auth.codeOfRaw({ header, claims: { ...claims, ...times } })).toBe(code);
    });

    it('shows the year 9999 for a token that expires later, and can revoke it', async () => {
      const { header, claims } = auth.valid();
      const jti = randomUUID();
      const api = auth.app.api(await signRaw(auth.strict, header, { ...claims, exp: 1e300, jti }));
      expect((await api.get(ME)).body.credential.expires_at).toBe('9999-12-31T00:00:00.000Z');
      const revoked = await api.post('/registry/v1/tokens/revoke', { jti, issuer: auth.strict.issuer });
      expect([revoked.status, revoked.body.expires_at]).toEqual([200, '9999-12-31T00:02:00.000Z']);
      expect((await api.get(ME)).body.code).toBe('token_rejected');
    });

    it.each<[unknown, string]>([
      ['test-api', 'ok'],
      [['other', 'test-api'], 'ok'],
      ['other', 'audience_mismatch'],
      [['other'], 'audience_mismatch'],
      [[], 'audience_mismatch'],
      ['', 'audience_mismatch'],
      ['test-api ', 'audience_mismatch'],
      [undefined, 'audience_mismatch'],
    ])('returns the right code for the audience %j', async (aud, code) => {
      const { header, claims } = auth.valid();
      expect(await auth.codeOfRaw({ header, claims: { ...claims, aud } })).toBe(code);
    });
  });

  describe('reads the identity and', () => {
    it('requires a subject, an organization and a user', async () => {
      expect(await auth.codeOfClaims({ sub: undefined })).toBe('missing_identity');
      expect(await auth.codeOfClaims({ sub: '' })).toBe('missing_identity');
      expect(await auth.codeOfClaims({ org_id: undefined })).toBe('missing_org');
      expect(await auth.codeOfClaims({ org_id: '' })).toBe('missing_org');
      expect(await auth.codeOfClaims({ user_id: undefined })).toBe('missing_user');
      expect(await auth.codeOfClaims({ user_id: '' })).toBe('missing_user');
      expect(await auth.codeOfClaims({ principal_type: 'service_account' })).toBe('missing_identity');
      expect(await auth.codeOfClaims({ principal_type: 'robot' })).toBe('unauthorized');
    });

    it('requires a known account', async () => {
      const { serviceAccountId } = await auth.org.serviceAccount('viewer');
      expect(await auth.codeOfClaims({ org_id: newId('org') })).toBe('unknown_account');
      expect(await auth.codeOfClaims({ user_id: 'nobody' })).toBe('unknown_account');
      expect(await auth.codeOfClaims({ user_id: 'kn own' })).toBe('unknown_account');
      expect(await auth.codeOfClaims({ user_id: 'x'.repeat(256) })).toBe('unknown_account');
      expect(await auth.codeOfClaims({ user_id: serviceAccountId })).toBe('unknown_account');
      const asAccount = { principal_type: 'service_account', service_account_id: newId('sva') };
      expect(await auth.codeOfClaims(asAccount)).toBe('unknown_account');
      expect(await auth.codeOfClaims({ ...asAccount, service_account_id: serviceAccountId })).toBe('ok');
      const stranger = await newOrganization(auth.app);
      expect(
        await auth.codeOfClaims({
          ...asAccount,
          service_account_id: serviceAccountId,
          org_id: stranger.orgId,
        }),
      ).toBe('unknown_account');
    });

    it('limits an issuer to its organizations and principal types', async () => {
      const claims = { sub: 'x', user_id: 'x' };
      const foreign = await auth.single.issueToken({ ...claims, org_id: auth.org.orgId });
      expect(await auth.codeOf(foreign)).toBe('token_rejected');
      const own = await auth.single.issueToken({ ...claims, org_id: 'org_of_its_own' });
      expect(await auth.codeOf(own)).toBe('unknown_account');
      const platform = await auth.single.issueToken({ sub: 'x', principal_type: 'platform' });
      expect(await auth.codeOf(platform)).toBe('token_rejected');
    });

    it('drops unknown roles and roles that the issuer may not grant', async () => {
      const own = await newOrganization(auth.app);
      const narrow = await TestIssuer.create('https://narrow.test');
      const other = await createTestApp({
        databaseUrl: auth.app.databaseUrl,
        issuers: [narrow.entry({ roles: ['viewer', 'editor'] })],
      });
      try {
        const claims = { org_id: own.orgId, user_id: 'x', roles: ['owner', 'editor', 'superuser'] };
        const me = await other.api(await narrow.issueToken(claims)).get(ME);
        expect(me.body.roles).toEqual(['editor']);
      } finally {
        await other.close();
      }
    });

    it('maps the claims of a foreign issuer', async () => {
      const own = await newOrganization(auth.app);
      const foreign = await TestIssuer.create('https://foreign.test');
      const claims = {
        org_id: 'https://foreign.test/org',
        user_id: 'sub',
        roles: '/realm_access/roles',
        workspace_ids: '/a~1b/~0c',
      };
      const other = await createTestApp({
        databaseUrl: auth.app.databaseUrl,
        issuers: [foreign.entry({ claims })],
      });
      try {
        const me = await other
          .api(
            await foreign.issueToken({
              sub: 'auth0|5',
              'https://foreign.test/org': own.orgId,
              realm_access: { roles: ['publisher'] },
              'a/b': { '~c': [own.workspaceId] },
              // claim names that the mapping replaces have no effect
              org_id: 'org_other',
              roles: ['owner'],
            }),
          )
          .get(ME);
        expect(me.body).toMatchObject({
          principal: { principal_id: 'auth0|5', principal_type: 'user' },
          organization: { org_id: own.orgId },
          roles: ['publisher'],
          workspaces: [{ workspace_id: own.workspaceId }],
        });
      } finally {
        await other.close();
      }
    });

    it('reads roles from a list that is a string, as scp and scope are', async () => {
      const own = await newOrganization(auth.app);
      const cases: [mapped: string, claims: Record<string, unknown>, roles: string[] | string][] = [
        ['scp', { scp: 'openid publisher  annotator' }, ['annotator', 'publisher']],
        ['scp', { scp: ['annotator', 'openid'] }, ['annotator']],
        ['/realm/scope', { realm: { scope: 'publisher' } }, ['publisher']],
        ['scope', { scope: '' }, []],
        ['scope', { scope: 'viewer,editor' }, []],
        ['scope', { scope: 5 }, 'token_malformed'],
        ['roles', { roles: 'annotator' }, ['annotator']],
      ];
      const issuers = await Promise.all(cases.map((_, n) => TestIssuer.create(`https://scopes-${n}.test`)));
      const other = await createTestApp({
        databaseUrl: auth.app.databaseUrl,
        issuers: issuers.map((issuer, n) => issuer.entry({ claims: { roles: cases[n]![0] } })),
      });
      try {
        for (const [n, [, claims, roles]] of cases.entries()) {
          const token = await issuers[n]!.issueToken({
            org_id: own.orgId,
            user_id: `scoped-${n}`,
            ...claims,
          });
          const { body } = await other.api(token).get(ME);
          expect(body.roles?.sort() ?? body.code).toEqual(roles);
        }
      } finally {
        await other.close();
      }
      // the service's own name is of an array
      expect(await auth.codeOfClaims({ roles: 'viewer' })).toBe('token_malformed');
    });

    it('provisions unknown users of a provisioning issuer, without stored roles', async () => {
      const userId = `new|${newId('usr')}`;
      const claims = { sub: userId, user_id: userId, org_id: auth.org.orgId };
      expect(await auth.codeOf(await auth.strict.issueToken(claims))).toBe('unknown_account');
      const first = await Promise.all(
        Array.from({ length: 5 }, async () =>
          auth.codeOf(await auth.app.issuer.issueToken({ ...claims, roles: ['owner'] })),
        ),
      );
      expect(new Set(first)).toEqual(new Set(['ok']));
      const me = await auth.app.api(await auth.app.issuer.issueToken(claims)).get(ME);
      expect(me.body).toMatchObject({ principal: { principal_id: userId }, roles: [] });
      const unknownOrg = await auth.app.issuer.issueToken({ ...claims, org_id: newId('org') });
      expect(await auth.codeOf(unknownOrg)).toBe('unknown_account');
    });
  });

  describe('checks the account and', () => {
    it('refuses a service account without workspaces', async () => {
      const { serviceAccountId, key } = await auth.org.serviceAccount('viewer');
      await auth.app.database.query(
        `UPDATE service_accounts SET workspace_ids = '{}' WHERE service_account_id = $1`,
        [serviceAccountId],
      );
      const claims = { principal_type: 'service_account', service_account_id: serviceAccountId };
      const token = await auth.strict.issueToken({ ...auth.valid().claims, ...claims });
      expect(await auth.codeOf(token)).toBe('token_service_account_unbound');
      expect(await auth.codeOf(key)).toBe('token_service_account_unbound');
    });

    it('refuses a service account token without remaining workspaces', async () => {
      const { serviceAccountId } = await auth.org.serviceAccount('viewer');
      const claims = {
        principal_type: 'service_account',
        service_account_id: serviceAccountId,
        workspace_ids: [await auth.org.newWorkspace()],
      };
      const token = await auth.strict.issueToken({ ...auth.valid().claims, ...claims });
      expect(await auth.codeOf(token)).toBe('token_service_account_unbound');
    });

    it('refuses suspended people, service accounts and organizations', async () => {
      const own = await newOrganization(auth.app);
      const suspend = (table: string, column: string, id: string) =>
        auth.app.database.query(`UPDATE ${table} SET status = 'suspended' WHERE ${column} = $1`, [id]);
      const person = await own.tokenOf('someone');
      expect(await auth.codeOf(person)).toBe('ok');
      const { serviceAccountId, key } = await own.serviceAccount('viewer');
      await suspend('users', 'user_id', 'someone');
      expect(await auth.codeOf(person)).toBe('account_suspended');
      expect(await auth.codeOf(key)).toBe('ok');
      await suspend('service_accounts', 'service_account_id', serviceAccountId);
      expect(await auth.codeOf(key)).toBe('account_suspended');
      const another = await own.tokenOf('another');
      expect(await auth.codeOf(another)).toBe('ok');
      await suspend('organizations', 'org_id', own.orgId);
      expect(await auth.codeOf(another)).toBe('account_suspended');
      expect(await auth.codeOf(await own.tokenOf('never seen'))).toBe('unknown_account');
    });

    it('refuses platform principals on tenant data', async () => {
      const token = await auth.app.issuer.issueToken({ sub: 'operator', principal_type: 'platform' });
      for (const path of ['/registry/v1/org', '/registry/v1/workspaces', '/eval/v1/datasets']) {
        const answer = await auth.app.api(token).get(path);
        expect(answer.status).toBe(403);
        expect(answer.body.code).toBe('platform_principal_refused');
      }
      expect(await auth.codeOf(token)).toBe('ok');
      expect((await auth.app.api(token).get('/registry/v1/orgs')).status).toBe(200);
    });
  });

  describe('checks API keys and', () => {
    it('refuses unknown and malformed keys', async () => {
      const { key } = await auth.org.serviceAccount('viewer');
      expect(await auth.codeOf(key)).toBe('ok');
      const other = key.endsWith('A') ? 'B' : 'A';
      for (const wrong of [
        key.slice(0, -1),
        `${key}A`,
        key.slice(0, -1) + other,
        'rsk_',
        `rsk_${'A'.repeat(43)}`,
        'rsk_a.b.c',
        `rsk_${'A'.repeat(9000)}`,
      ]) {
        expect(await auth.codeOf(wrong)).toBe('invalid_api_key');
      }
      expect(await auth.codeOf(key.toUpperCase())).toBe('token_malformed');
    });
  });
});
