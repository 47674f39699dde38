import { createTestApp, createTestDatabase, newOrganization, TcpProxy, until } from '#testing';
import { ME } from './authentication.harness';

/** The service reconnects after five seconds. */
describe('the database', () => {
  it('is listened to again for account changes when the connection is back', async () => {
    const database = await createTestDatabase();
    const proxy = await TcpProxy.to(database.url);
    const one = await createTestApp({ databaseUrl: database.url, env: { AUTH_CACHE_SECONDS: '60' } });
    const env = { ...one.env, DATABASE_URL: proxy.url };
    const other = await createTestApp({ databaseUrl: proxy.url, issuer: one.issuer, env });
    try {
      const org = await newOrganization(one);
      const { key, keyId, serviceAccountId } = await org.serviceAccount('viewer');
      proxy.cut();
      proxy.restore();
      expect((await other.api(key).get(ME)).status).toBe(200);
      const admin = one.api(await org.token('admin'));
      await admin.post(`/registry/v1/service-accounts/${serviceAccountId}/keys/${keyId}/revoke`);
      await until(async () => (await other.api(key).get(ME)).status === 401);
    } finally {
      await other.close();
      await one.close();
      await proxy.close();
      await database.drop();
    }
  });
});
