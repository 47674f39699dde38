import { createTestApp, newOrganization } from '#testing';

/** Requests that find every connection of the pool taken. */
describe('a pool of which no connection becomes free', () => {
  it('is told of as 503, to be tried again, and serves once one is free', async () => {
    const app = await createTestApp({
      env: { DATABASE_POOL_SIZE: '2', DATABASE_CONNECTION_TIMEOUT_MS: '200' },
    });
    try {
      const org = await newOrganization(app);
      const account = await org.serviceAccount('viewer');
      const path = '/registry/v1/org';
      expect((await app.api(account.key).get(path)).status).toBe(200);
      let release!: () => void;
      const held = new Promise<void>((resolve) => (release = resolve));
      const holding = [1, 2].map(() => app.database.transaction(() => held));
      const refused = await app.api(account.key).get(path);
      release();
      await Promise.all(holding);
      expect(refused.body).toMatchObject({
        status: 503,
        code: 'service_unavailable',
        detail: 'No connection to the database became free in time. Try again.',
      });
      expect(refused.headers.get('retry-after')).toBe('1');
      expect((await app.api(account.key).get(path)).status).toBe(200);
    } finally {
      await app.close();
    }
  });
});
