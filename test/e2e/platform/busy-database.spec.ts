import { createTestApp, newOrganization } from '#testing';

/** Requests that find every connection of their share taken. Of two connections, one is for authentication. */
describe('an exhausted connection pool', () => {
  it('is 503 with Retry-After until a connection is free', async () => {
    const app = await createTestApp({
      env: { DATABASE_POOL_SIZE: '2', DATABASE_CONNECTION_TIMEOUT_MS: '3000' },
    });
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    try {
      const { api, path } = await reader();
      await hold();
      const refused = await api.get(path);
      release();
      expect(refused.body).toMatchObject({
        status: 503,
        code: 'service_unavailable',
        detail: 'No database connection became free in time. Try again.',
      });
      expect(refused.headers.get('retry-after')).toBe('1');
      expect((await api.get(path)).status).toBe(200);
    } finally {
      release();
      await app.close();
    }

    /** Somebody whose key is remembered, so that the request itself is what lacks a connection. */
    async function reader() {
      const account = await (await newOrganization(app)).serviceAccount('viewer');
      const api = app.api(account.key);
      const path = '/registry/v1/org';
      expect((await api.get(path)).status).toBe(200);
      return { api, path };
    }

    /** Takes a connection until `release`. */
    async function hold(): Promise<void> {
      await new Promise<void>((resolve, reject) => {
        app.database
          .transaction(() => {
            resolve();
            return held;
          })
          .catch(reject);
      });
    }
  });
});
