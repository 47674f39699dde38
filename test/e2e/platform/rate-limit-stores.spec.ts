import { randomBytes } from 'node:crypto';
import { limiterStoreOf, MemoryStore, PostgresStore } from '../../../libs/platform/rate-limit/limiter-stores';
import { readEnvironment } from '#platform/config';
import { RateLimitRepository } from '#platform/rate-limit';
import {
  createTestApp,
  describeWithRedis,
  newOrganization,
  TcpProxy,
  type TestApp,
  type TestOrganization,
  until,
} from '#testing';
import { sendInTurn, ME, statusesOf } from './rate-limits.fixture';

/** A long timeout, so that a slow machine does not make a process count on its own. */
const PATIENT = { RATE_LIMIT_TIMEOUT_MS: '60000' };
const LIMITS = { RATE_LIMIT_READS: '4', RATE_LIMIT_UNAUTHORIZED: '4', TRUSTED_PROXIES: '127.0.0.1' };

/** Tests that two processes share their limits. */
function testSharedLimits(start: () => Promise<TestApp>): void {
  let first: TestApp;
  let second: TestApp;
  let org: TestOrganization;

  beforeAll(async () => {
    first = await start();
    second = await first.another();
    org = await newOrganization(first);
  });
  afterAll(async () => {
    await second?.close();
    await first?.close();
  });

  it('share the limits of a principal', async () => {
    const token = await org.token('viewer');
    const clients = [first, second].map((app) => app.api(token));
    const answers = await sendInTurn(6, (index) => clients[index % 2]!.get(ME));
    expect(statusesOf(answers)).toEqual([200, 200, 200, 200, 429, 429]);
    expect((await first.api(await org.token('viewer')).get(ME)).status).toBe(200);
  });

  it('share the limit of an address', async () => {
    const from = { 'x-forwarded-for': '203.0.113.1' };
    const answers = await sendInTurn(6, (index) => [first, second][index % 2]!.api('x.y.z').get(ME, from));
    expect(statusesOf(answers)).toEqual([401, 401, 401, 401, 429, 429]);
  });

  it('share a limit that concurrent requests exceed', async () => {
    const token = await org.token('viewer');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => [first, second][index % 2]!.api(token).get(ME)),
    );
    expect(statusesOf(answers).filter((status) => status === 200).length).toBe(4);
  });
}

/** Expects that requests succeed during an outage of the store, and that the process counts on its own. */
async function expectOwnCounts(app: TestApp): Promise<void> {
  const org = await newOrganization(app);
  const viewer = app.api(await org.token('viewer'));
  expect(statusesOf(await sendInTurn(5, () => viewer.get(ME)))).toEqual([200, 200, 200, 200, 429]);
  const from = { 'x-forwarded-for': '203.0.113.9' };
  const answers = await sendInTurn(5, () => app.api('x.y.z').get(ME, from));
  expect(statusesOf(answers)).toEqual([401, 401, 401, 401, 429]);
}

describe('two API processes on one PostgreSQL', () => {
  testSharedLimits(() => createTestApp({ env: { ...LIMITS, ...PATIENT } }));
});

describeWithRedis('two API processes on one Redis', (url) => {
  const env = () => ({ ...LIMITS, REDIS_URL: url, REDIS_PREFIX: `{test-${randomBytes(6).toString('hex')}}` });

  testSharedLimits(() => createTestApp({ env: { ...env(), ...PATIENT } }));

  it('count on their own while Redis is unavailable, and share limits again afterwards', async () => {
    const proxy = await TcpProxy.to(url);
    const first = await createTestApp({ env: { ...env(), REDIS_URL: proxy.url } });
    const second = await first.another();
    try {
      proxy.cut();
      await expectOwnCounts(first);
      proxy.restore();
      const org = await newOrganization(first);
      const sharesAgain = async (): Promise<boolean> => {
        const token = await org.token('viewer');
        await sendInTurn(4, () => first.api(token).get(ME));
        return (await second.api(token).get(ME)).status === 429;
      };
      await until(sharesAgain);
    } finally {
      await second.close();
      await first.close();
      await proxy.close();
    }
  });
});

describe('rate limits', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp({ env: { ...LIMITS, RATE_LIMIT_TIMEOUT_MS: '50' } });
  });
  afterAll(() => app.close());

  it('are counted by a process on its own if PostgreSQL cannot count', async () => {
    await app.database.query('ALTER TABLE rate_limits RENAME TO rate_limits_away');
    try {
      await expectOwnCounts(app);
    } finally {
      await app.database.query('ALTER TABLE rate_limits_away RENAME TO rate_limits');
    }
  });

  it('are counted by a process on its own if PostgreSQL does not respond', async () => {
    await app.database.transaction(async (tx) => {
      await tx.query('LOCK TABLE rate_limits');
      const from = { 'x-forwarded-for': '203.0.113.10' };
      const answers = await sendInTurn(5, () => app.api('x.y.z').get(ME, from));
      expect(statusesOf(answers)).toEqual([401, 401, 401, 401, 429]);
    });
  });

  it('leave no rows after their windows have ended', async () => {
    await app.database.query(
      `INSERT INTO rate_limits VALUES ('past', 1, 0), ('current', 1, ${Date.now() + 60_000})`,
    );
    await new RateLimitRepository(app.database).deleteExpired();
    const rows = await app.database.query<{ key: string }>(
      `SELECT key FROM rate_limits WHERE key IN ('past', 'current')`,
    );
    expect(rows).toEqual([{ key: 'current' }]);
  });

  it('are counted in process memory by the only process of a database', async () => {
    const environment = readEnvironment({ DATABASE_URL: app.databaseUrl });
    expect(limiterStoreOf(environment, false)).toBeInstanceOf(MemoryStore);
    const shared = limiterStoreOf(environment, true) as PostgresStore;
    expect(shared).toBeInstanceOf(PostgresStore);
    await shared.onApplicationShutdown();
  });

  it('keep a limited number of keys in process memory', async () => {
    const limiter = new MemoryStore().createLimiter('unauthorized', 2);
    const names = Array.from({ length: 51_000 }, (_, index) => `address ${index}`);
    for (const name of names) await limiter.consume(name);
    const oldest = await Promise.all(names.slice(0, 1_010).map((name) => limiter.get(name)));
    expect(oldest.filter((one) => one !== null).length).toBe(10);
    expect(await limiter.get(names.at(-1)!)).toMatchObject({ consumedPoints: 1 });
  });
});
