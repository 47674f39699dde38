import { createTestApp, createTestDatabase, newOrganization, TcpProxy, type TestApp, until } from '#testing';
import { ACCOUNTS_CHANNEL } from '../../../libs/platform/auth/account-changes';
import { AccountCache } from '../../../libs/platform/auth/account-cache';
import { ME } from './authentication.harness';

/** Waits until a process has received the notifications of all previous changes. */
async function receivedAllChanges(app: TestApp): Promise<void> {
  const invalidate = jest.spyOn(app.get(AccountCache), 'invalidate');
  await app.database.query('SELECT pg_notify($1, $2)', [ACCOUNTS_CHANNEL, 'the last']);
  await until(() => invalidate.mock.calls.some(([orgId]) => orgId === 'the last'));
  invalidate.mockRestore();
}

describe('cached accounts', () => {
  let one: TestApp;
  let other: TestApp;

  beforeAll(async () => {
    one = await createTestApp({ env: { AUTH_CACHE_SECONDS: '60' } });
    // a second process of the same service, which shares only the database and the configuration
    other = await one.another();
  });
  afterAll(async () => {
    await other.close();
    await one.close();
  });

  const codeIn = async (app: TestApp, token: string): Promise<string> => {
    const { status, body } = await app.api(token).get(ME);
    return status === 200 ? 'ok' : (body as { code: string }).code;
  };

  it('are dropped in every process when the account is suspended', async () => {
    const org = await newOrganization(one);
    const admin = one.api(await org.token('admin'));
    const { key, serviceAccountId } = await org.serviceAccount('viewer');
    const person = await org.tokenOf('someone');
    for (const app of [one, other]) {
      expect(await codeIn(app, key)).toBe('ok');
      expect(await codeIn(app, person)).toBe('ok');
    }
    const suspended = { status: 'suspended' };
    expect((await admin.patch(`/registry/v1/service-accounts/${serviceAccountId}`, suspended)).status).toBe(
      200,
    );
    expect((await admin.patch('/registry/v1/users/someone', suspended)).status).toBe(200);
    expect(await codeIn(one, key)).toBe('account_suspended');
    expect(await codeIn(one, person)).toBe('account_suspended');
    await until(async () => (await codeIn(other, key)) === 'account_suspended');
    await until(async () => (await codeIn(other, person)) === 'account_suspended');
  });

  it('are dropped when a key or a token is revoked', async () => {
    const org = await newOrganization(one);
    const admin = one.api(await org.token('admin'));
    const { key, keyId, serviceAccountId } = await org.serviceAccount('viewer');
    const token = await org.tokenOf('someone');
    for (const app of [one, other]) {
      expect(await codeIn(app, key)).toBe('ok');
      expect(await codeIn(app, token)).toBe('ok');
    }
    await admin.post(`/registry/v1/service-accounts/${serviceAccountId}/keys/${keyId}/revoke`);
    await admin.post('/registry/v1/tokens/revoke', { token });
    expect(await codeIn(one, key)).toBe('invalid_api_key');
    expect(await codeIn(one, token)).toBe('token_rejected');
    await until(async () => (await codeIn(other, key)) === 'invalid_api_key');
    await until(async () => (await codeIn(other, token)) === 'token_rejected');
  });

  it('include a new workspace of the caller, in every process', async () => {
    const org = await newOrganization(one);
    const { key } = await org.serviceAccount('owner');
    expect(await codeIn(other, key)).toBe('ok');
    const made = await one.api(key).post('/registry/v1/workspaces', { name: 'new' });
    const path = made.headers.get('location')!;
    expect((await one.api(key).get(path)).status).toBe(200);
    await until(async () => (await other.api(key).get(path)).status === 200);
  });

  it('exclude an archived workspace, in every process', async () => {
    const org = await newOrganization(one);
    const token = await org.token('admin');
    const make = async (app: TestApp) =>
      (
        await app
          .api(token)
          .in(org.workspaceId)
          .post('/eval/v1/experiments', { workspace_id: org.workspaceId, name: 'x' })
      ).status;
    for (const app of [one, other]) expect(await make(app)).toBe(201);
    await one.api(token).post(`/registry/v1/workspaces/${org.workspaceId}/archive`);
    expect(await make(one)).toBe(409);
    await until(async () => (await make(other)) === 409);
  });

  it('save account queries of later requests, and expire after AUTH_CACHE_SECONDS without any notification', async () => {
    const org = await newOrganization(one);
    const token = await org.tokenOf('someone');
    expect(await codeIn(one, token)).toBe('ok');
    await receivedAllChanges(one);
    expect(await codeIn(one, token)).toBe('ok');
    await one.database.query(`UPDATE users SET status = 'suspended' WHERE org_id = $1`, [org.orgId]);
    expect(await codeIn(one, token)).toBe('ok');
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000);
    expect(await codeIn(one, token)).toBe('account_suspended');
    clock.mockRestore();
  });
});

describe('a database that cannot be reached', () => {
  it('makes authentication unavailable, except for cached accounts', async () => {
    const database = await createTestDatabase();
    const proxy = await TcpProxy.to(database.url);
    const app = await createTestApp({ databaseUrl: proxy.url, env: { AUTH_CACHE_SECONDS: '60' } });
    try {
      const org = await newOrganization(app);
      const account = await org.serviceAccount('viewer');
      const unknown = await org.serviceAccount('viewer');
      const token = await org.token('viewer');
      await receivedAllChanges(app);
      expect((await app.api(account.key).get('/registry/v1/org')).status).toBe(200);
      proxy.cut();
      for (const credential of [unknown.key, token]) {
        const answer = await app.api(credential).get('/registry/v1/org');
        expect(answer.status).toBe(503);
        expect(answer.body).toMatchObject({ code: 'auth_unavailable' });
        expect(answer.headers.get('retry-after')).toBe('1');
      }
      const remembered = await app.api(account.key).get('/registry/v1/org');
      expect(remembered.body).toMatchObject({ status: 503, code: 'service_unavailable' });
      const exchange = await app.api().post('/registry/v1/tokens', { api_key: account.key });
      expect(exchange.body).toMatchObject({ status: 503, code: 'auth_unavailable' });
      expect((await app.api('x.y.z').get('/registry/v1/org')).body).toMatchObject({
        code: 'token_malformed',
      });
      proxy.restore();
      expect((await app.api(token).get('/registry/v1/org')).status).toBe(200);
    } finally {
      await app.close();
      await proxy.close();
      await database.drop();
    }
  });
});
