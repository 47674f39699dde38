import { createTestApp, newOrganization } from '#testing';

/** One of the two connections is reserved for authentication. */
describe('an exhausted connection pool', () => {
  it('returns 503 with Retry-After until a connection is free', async () => {
    const app = await createTestApp({
      env: { DATABASE_POOL_SIZE: '2', DATABASE_CONNECTION_TIMEOUT_MS: '1000' },
    });
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    try {
      const { api, path } = await reader();
      await occupyConnection();
      const rejected = await api.get(path);
      release();
      expect(rejected.body).toMatchObject({
        status: 503,
        code: 'service_unavailable',
        detail: 'No database connection became free in time. Try again.',
      });
      expect(rejected.headers.get('retry-after')).toBe('1');
      expect((await api.get(path)).status).toBe(200);
    } finally {
      release();
      await app.close();
    }

    /** Returns a client whose key is cached, so that only the request itself needs a connection. */
    async function reader() {
      const account = await (await newOrganization(app)).serviceAccount('viewer');
      const api = app.api(account.key);
      const path = '/registry/v1/org';
      expect((await api.get(path)).status).toBe(200);
      return { api, path };
    }

    /** Occupies a connection until `release`. */
    async function occupyConnection(): Promise<void> {
      await new Promise<void>((resolve, reject) => {
        app.database
          .transaction(() => {
            resolve();
            return released;
          })
          .catch(reject);
      });
    }
  });
});
