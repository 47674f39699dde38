import { setTimeout as sleep } from 'node:timers/promises';
import { getQueueToken } from '@nestjs/bullmq';
import type { Queue } from 'bullmq';
import {
  createTestApp,
  createTestDatabase,
  createTestWorker,
  describeWithRedis,
  ownRedis,
  type OwnRedis,
  TcpProxy,
  type TestApp,
  type TestDatabase,
  WorkerProcess,
} from '#testing';
import { SCORE_RUN } from '../../src/evaluation/scoring/score-runs/score-run.service';
import { Gate, JUDGE } from './gate.fixture';
import { ServiceProcess } from '../e2e/platform/tracing.fixture';
import { expectAccounted, inputs, JudgeFixture } from './judge.fixture';

describe('a run of a judge', () => {
  let gate: Gate;
  let running: { close(): Promise<unknown> }[] = [];

  beforeAll(async () => {
    gate = await Gate.listen();
  });
  afterAll(() => gate.close());
  beforeEach(() => gate.reset());
  afterEach(async () => {
    gate.release({ open: true });
    for (const one of running.reverse()) await one.close();
    running = [];
  });

  const started = <Process extends { close(): Promise<unknown> }>(one: Process): Process => {
    running.push(one);
    return one;
  };
  const newProcess = async (app: TestApp, env: Record<string, string> = {}): Promise<WorkerProcess> => {
    const worker = await WorkerProcess.start(app, env);
    started({ close: () => worker.kill() });
    return worker;
  };
  const begin = async (fixture: JudgeFixture, count: number, concurrency = 4): Promise<string> => {
    const scorer = await fixture.scorer(JUDGE.definition);
    const { experiment_id } = await fixture.experiment(...inputs(count));
    return (await fixture.scoring.score(scorer, { experiment_id, concurrency })).body.score_run_id;
  };
  const end = async (fixture: JudgeFixture, runId: string): Promise<any> => {
    const run = await fixture.scoring.finished(runId);
    expectAccounted(run, await fixture.scoring.resultsOf(runId));
    expect(run).toMatchObject({ run_status: 'succeeded', failed_count: 0 });
    return run;
  };

  it('survives the death of its worker with four targets in flight', async () => {
    const app = started(await createTestApp({ env: gate.env }));
    const fixture = await JudgeFixture.create(app);
    const killed = await newProcess(app);
    const runId = await begin(fixture, 12);
    await gate.holds(4);
    gate.release();
    await gate.holds(4);
    while ((await fixture.scoring.run(runId)).completed_count < 4) await sleep(20);
    await killed.kill();
    const scoreIds = (await fixture.scoring.resultsOf(runId)).map((one) => one.score_id);
    expect(scoreIds).toHaveLength(4);
    await newProcess(app);
    await gate.holds(4);
    gate.release({ open: true });
    await end(fixture, runId);
    expect((await fixture.scoring.resultsOf(runId)).map((one) => one.score_id)).toEqual(
      expect.arrayContaining(scoreIds),
    );
    // Only those four were requested again.
    expect(gate.requests).toHaveLength(12 + 4);
  }, 120_000);

  it('survives the shutdown of its worker with four targets in flight', async () => {
    const app = started(await createTestApp({ env: gate.env }));
    const fixture = await JudgeFixture.create(app);
    const stopped = await ServiceProcess.start('worker', app);
    started({ close: () => stopped.kill() });
    const runId = await begin(fixture, 8);
    await gate.holds(4);
    const code = stopped.stop();
    await stopped.line(({ msg }) => msg === 'stopping');
    gate.release();
    expect(await code).toBe(0);
    expect(gate.requests).toHaveLength(4);
    expect(await fixture.scoring.run(runId)).toMatchObject({ run_status: 'running', completed_count: 4 });
    gate.release({ open: true });
    await newProcess(app);
    await end(fixture, runId);
    expect(gate.requests).toHaveLength(8);
  }, 120_000);

  describe('while the database is unavailable', () => {
    let database: TestDatabase;
    let proxy: TcpProxy;

    beforeEach(async () => {
      database = await createTestDatabase();
      proxy = await TcpProxy.to(database.url);
    });
    afterEach(async () => {
      gate.release({ open: true });
      for (const one of running.splice(0).reverse()) await one.close();
      await proxy.close();
      await database.drop();
    });

    it('keeps its answers for ten seconds, and sends no request twice', async () => {
      const app = started(await createTestApp({ databaseUrl: database.url, env: gate.env }));
      const fixture = await JudgeFixture.create(app);
      await newProcess(app, { DATABASE_URL: proxy.url });
      const runId = await begin(fixture, 12);
      await gate.holds(4);
      proxy.cut();
      gate.release();
      await sleep(10_000);
      gate.release({ open: true });
      proxy.restore();
      await end(fixture, runId);
      expect(gate.requests).toHaveLength(12);
    }, 120_000);
  });

  describeWithRedis('with the queue in Redis', () => {
    let redis: OwnRedis | undefined;

    beforeEach(async () => {
      redis = await ownRedis();
    });
    afterEach(async () => {
      gate.release({ open: true });
      for (const one of running.splice(0).reverse()) await one.close();
      await redis?.stop();
    });

    it('ends even if Redis restarts empty', async () => {
      if (!redis) throw new Error('This test needs an installed redis-server. TEST_REDIS_URL is not enough.');
      const app = started(await createTestApp({ env: { ...gate.env, REDIS_URL: redis.url } }));
      const fixture = await JudgeFixture.create(app);
      started(await createTestWorker(app, { WORKER_RUNS: '1' }));
      const runs = [await begin(fixture, 8), await begin(fixture, 3)];
      await gate.holds(4);
      await redis.restart();
      gate.release({ open: true });
      await end(fixture, runs[0]!);
      await end(fixture, runs[1]!);
      expect(gate.requests).toHaveLength(11);
    }, 120_000);
  });

  it('fails if no worker can finish it, and keeps its job for inspection', async () => {
    const app = started(await createTestApp({ env: gate.env }));
    const fixture = await JudgeFixture.create(app);
    const poisoned = await begin(fixture, 3);
    await app.database.query(
      'ALTER TABLE score_runs DROP CONSTRAINT IF EXISTS score_runs_scorer_id_scorer_version_fkey',
    );
    await app.database.query(
      'DELETE FROM scorer_versions WHERE scorer_id IN (SELECT scorer_id FROM score_runs WHERE score_run_id = $1)',
      [poisoned],
    );
    const healthy = await begin(fixture, 3);
    started(await createTestWorker(app));
    gate.release({ open: true });
    await end(fixture, healthy);
    const run = await fixture.scoring.finished(poisoned);
    expect(run).toMatchObject({ run_status: 'failed', failure_code: 'internal_error' });
    const results = await fixture.scoring.resultsOf(poisoned);
    expectAccounted(run, results);
    expect(JSON.stringify(results)).not.toMatch(/scorer_versions|gone/);
    const queue = app.get<Queue>(getQueueToken(SCORE_RUN.name) as never);
    let failedJobs: { data: { score_run_id: string } }[] = [];
    while (failedJobs.length === 0) failedJobs = await queue.getFailed();
    expect(failedJobs.map(({ data }) => data.score_run_id)).toEqual([poisoned]);
  }, 120_000);
});
