import { setTimeout as sleep } from 'node:timers/promises';
import { getQueueToken } from '@nestjs/bullmq';
import type { Queue } from 'bullmq';
import {
  createTestApp,
  createTestDatabase,
  createTestWorker,
  describeWithRedis,
  ownRedis,
  TcpProxy,
  type TestApp,
  WorkerProcess,
} from '#testing';
import { SCORE_RUN } from '../../src/evaluation/scoring/score-runs/score-run.service';
import { Gate, JUDGE } from './gate.fixture';
import { ServiceProcess } from '../e2e/platform/tracing.fixture';
import { expectAccounted, inputs, JudgeFixture } from './judge.fixture';

interface Closeable {
  close(): Promise<unknown>;
}

/** What a test uses, and stops at its end. */
interface Own {
  gate: Gate;
  /** Registers a process. The last one is stopped first. */
  started: <Process extends Closeable>(one: Process) => Process;
}

/** Runs a test with its own judge and processes. */
const withOwn =
  (test: (own: Own) => Promise<void>): (() => Promise<void>) =>
  async () => {
    const gate = await Gate.listen();
    const running: Closeable[] = [gate];
    const started: Own['started'] = (one) => {
      running.push(one);
      return one;
    };
    try {
      await test({ gate, started });
    } finally {
      gate.release({ open: true });
      for (const one of running.reverse()) await one.close();
    }
  };

/** The tests run at once, because they wait most of the time: for a queue that notices a lost worker, or for an outage. */
describe('a run of a judge', () => {
  const newProcess = async (
    started: Own['started'],
    app: TestApp,
    env: Record<string, string> = {},
  ): Promise<WorkerProcess> => {
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

  it.concurrent(
    'survives the death of its worker with four targets in flight',
    withOwn(async ({ gate, started }) => {
      const app = started(await createTestApp({ env: gate.env }));
      const fixture = await JudgeFixture.create(app);
      const killed = await newProcess(started, app);
      const runId = await begin(fixture, 12);
      await gate.holds(4);
      gate.release();
      await gate.holds(4);
      while ((await fixture.scoring.run(runId)).completed_count < 4) await sleep(20);
      await killed.kill();
      const scoreIds = (await fixture.scoring.resultsOf(runId)).map((one) => one.score_id);
      expect(scoreIds).toHaveLength(4);
      await newProcess(started, app);
      await gate.holds(4);
      gate.release({ open: true });
      await end(fixture, runId);
      expect((await fixture.scoring.resultsOf(runId)).map((one) => one.score_id)).toEqual(
        expect.arrayContaining(scoreIds),
      );
      // Only those four were requested again.
      expect(gate.requests).toHaveLength(12 + 4);
    }),
    120_000,
  );

  it.concurrent(
    'survives the shutdown of its worker with four targets in flight',
    withOwn(async ({ gate, started }) => {
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
      await newProcess(started, app);
      await end(fixture, runId);
      expect(gate.requests).toHaveLength(8);
    }),
    120_000,
  );

  it.concurrent(
    'keeps its answers while the database is unavailable for ten seconds, and sends no request twice',
    withOwn(async ({ gate, started }) => {
      const database = await createTestDatabase();
      started({ close: () => database.drop() });
      const proxy = started(await TcpProxy.to(database.url));
      const app = started(await createTestApp({ databaseUrl: database.url, env: gate.env }));
      const fixture = await JudgeFixture.create(app);
      await newProcess(started, app, { DATABASE_URL: proxy.url });
      const runId = await begin(fixture, 12);
      await gate.holds(4);
      proxy.cut();
      gate.release();
      await sleep(10_000);
      gate.release({ open: true });
      proxy.restore();
      await end(fixture, runId);
      expect(gate.requests).toHaveLength(12);
    }),
    120_000,
  );

  describeWithRedis('with the queue in Redis', () => {
    it(
      'ends even if Redis restarts empty',
      withOwn(async ({ gate, started }) => {
        const redis = await ownRedis();
        if (!redis)
          throw new Error('This test needs an installed redis-server. TEST_REDIS_URL is not enough.');
        started({ close: () => redis.stop() });
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
      }),
      120_000,
    );
  });

  it.concurrent(
    'fails if no worker can finish it, and keeps its job for inspection',
    withOwn(async ({ gate, started }) => {
      const app = started(await createTestApp({ env: gate.env }));
      const fixture = await JudgeFixture.create(app);
      const poisoned = await begin(fixture, 3);
      await app.database.query(
        `UPDATE scorer_versions SET definition = 'null'
         WHERE scorer_id IN (SELECT scorer_id FROM score_runs WHERE score_run_id = $1)`,
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
    }),
    120_000,
  );
});
