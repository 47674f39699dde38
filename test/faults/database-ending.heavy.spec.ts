import { setTimeout as sleep } from 'node:timers/promises';
import { WatchedClient } from '#platform/db';
import {
  createTestApp,
  createTestDatabase,
  newOrganization,
  TcpProxy,
  type TestApp,
  type TestDatabase,
  WorkerProcess,
} from '#testing';
import { ScoringFixture } from '../e2e/evaluation/scoring.fixture';

const ALWAYS_ONE = { definition: { language: 'javascript', source: 'function score() { return 1 }' } };

describe('a database that closes new connections', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let running: TestApp | undefined;

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.to(database.url);
  });
  afterEach(async () => {
    await running?.close();
    await proxy.close();
    await database.drop();
  });

  /** Ends all connections, and then at least `count` new ones. */
  const endConnections = async (count: number, work?: () => Promise<void>): Promise<void> => {
    proxy.cut();
    proxy.endWhenReady();
    const deadline = Date.now() + 30_000;
    while (proxy.endedCount < count) {
      if (Date.now() > deadline) throw new Error(`only ${proxy.endedCount} connections were opened`);
      await work?.();
      await sleep(5);
    }
    proxy.restore();
  };

  it('is reported to listeners that are added later', async () => {
    proxy.endWhenReady();
    const client = new WatchedClient(proxy.url);
    await client.connect();
    await new Promise((resolve) => client.once('end', resolve));
    client.removeAllListeners();
    expect(client.listenerCount('error')).toBe(1);
    const error = await new Promise<Error>((resolve) => client.on('error', resolve));
    expect(error).toMatchObject({ code: '57P01' });
  });

  it('does not end the API, which recovers', async () => {
    const app = (running = await createTestApp({
      databaseUrl: proxy.url,
      env: { AUTH_CACHE_SECONDS: '60' },
    }));
    const org = await newOrganization(app);
    const api = await org.as('evaluator');
    const body = { workspace_id: org.workspaceId, name: 'kept' };
    // the caller is now cached, so that only the operation itself needs the database
    expect((await api.get('/eval/v1/datasets')).status).toBe(200);
    await endConnections(20, async () => {
      expect((await api.post('/eval/v1/datasets', body)).status).toBe(503);
    });
    expect((await api.post('/eval/v1/datasets', body)).status).toBe(201);
    expect((await api.get('/eval/v1/datasets')).body.items).toHaveLength(1);
  });

  it('does not end the worker, which resumes taking jobs', async () => {
    const app = (running = await createTestApp({ databaseUrl: database.url }));
    const on = await ScoringFixture.create(app);
    const worker = await WorkerProcess.start(app, { DATABASE_URL: proxy.url });
    try {
      await endConnections(5);
      const experiment = await on.experiment();
      await on.results(experiment, [{ input: 1 }]);
      const { body: run } = await on.score(await on.scorer(ALWAYS_ONE), {
        experiment_id: experiment.experiment_id,
      });
      expect(await on.finished(run.score_run_id)).toMatchObject({ run_status: 'succeeded' });
      expect(await worker.stop()).toBe(0);
    } finally {
      await worker.kill();
    }
  });
});
