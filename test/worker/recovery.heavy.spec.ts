import { Redis } from 'ioredis';
import {
  createTestApp,
  createTestWorker,
  type TestApp,
  type TestWorker,
  until,
  WorkerProcess,
} from '#testing';
import { WorkerShutdown } from '#platform/jobs';
import { RunExecutionRepository } from '../../src/evaluation/scoring/score-runs/run-execution.repository';
import { ScoreRunExecutor } from '../../src/evaluation/scoring/score-runs/score-run.executor';
import { ScoringFixture } from '../e2e/evaluation/scoring.fixture';
import { describeOnBothQueues } from './backends.fixture';
import { Gate, JUDGE } from './gate.fixture';

/** A scorer that takes some milliseconds. */
const SLOW = {
  definition: {
    language: 'javascript',
    source: 'function score() { let n = 0; for (let i = 0; i < 1e5; i++) n += i % 7; return n > 0; }',
    timeout_ms: 10_000,
  },
};

const indexes = (count: number) => Array.from({ length: count }, (_, index) => ({ input: index }));

describeOnBothQueues('a scoring run', (env) => {
  let app: TestApp;
  let gate: Gate;
  let on: ScoringFixture;
  let workers: { close(): Promise<unknown> }[];

  beforeAll(async () => {
    gate = await Gate.listen();
    app = await createTestApp({ env: { ...env, ...gate.env } });
  });
  afterAll(async () => {
    await app.close();
    await gate.close();
  });
  beforeEach(async () => {
    gate.reset();
    on = await ScoringFixture.create(app);
    workers = [];
  });
  afterEach(async () => {
    gate.release({ open: true });
    await Promise.all(workers.map((worker) => worker.close()));
  });

  const newWorker = async (vars: Record<string, string> = {}): Promise<TestWorker> => {
    const worker = await createTestWorker(app, vars);
    workers.push(worker);
    return worker;
  };
  const newProcess = async (vars: Record<string, string> = {}): Promise<WorkerProcess> => {
    const worker = await WorkerProcess.start(app, vars);
    workers.push({ close: () => worker.kill() });
    return worker;
  };
  const runOver = async (count: number, scorer: object = JUDGE, body: object = {}): Promise<any> =>
    runOfScorer(await on.scorer(scorer), count, body);
  const runOfScorer = async (scorer: any, count = 1, body: object = {}): Promise<any> => {
    const experiment = await on.experiment();
    await on.results(experiment, indexes(count));
    const { experiment_id } = experiment;
    const { body: run } = await on.score(scorer, { experiment_id, ...body });
    return { ...run, experiment_id };
  };
  const inDatabase = (sql: string, ...values: unknown[]): Promise<any[]> => app.database.query(sql, values);
  const expireLease = (runId: string) =>
    inDatabase(
      `UPDATE score_runs SET lease_expires_at = now() - interval '1 minute' WHERE score_run_id = $1`,
      runId,
    );
  /** Expects that every target of a run was scored once, and that its result shows the score. */
  const expectScoredOnce = async (run: any, count: number): Promise<void> => {
    const results = await on.resultsOf(run.score_run_id);
    expect(results.map((one) => one.error)).toEqual(Array(count).fill(undefined));
    expect(new Set(results.map((one) => one.trace_id)).size).toBe(count);
    const written = await on.evaluator.get(`/eval/v1/experiments/${run.experiment_id}/results`);
    for (const { scores } of written.body.items) expect(Object.keys(scores)).toHaveLength(1);
  };

  it('continues in another worker at once when its worker stops', async () => {
    const stopping = await newWorker();
    const run = await runOver(6, JUDGE, { concurrency: 2 });
    await gate.holds(2);
    const stopped = stopping.close();
    await until(() => stopping.get(WorkerShutdown).stopping.aborted);
    gate.release();
    await stopped;
    expect(gate.requests).toHaveLength(2);
    expect(await on.run(run.score_run_id)).toMatchObject({ run_status: 'running', completed_count: 2 });

    await newWorker();
    await gate.holds(2);
    gate.release({ open: true });
    expect(await on.finished(run.score_run_id)).toMatchObject({
      run_status: 'succeeded',
      completed_count: 6,
    });
    expect(gate.requests).toHaveLength(6);
    await expectScoredOnce(run, 6);
  });

  it('is handed back unfinished when its worker runs out of time to stop', async () => {
    const stopping = await newWorker({ SHUTDOWN_SECONDS: '1' });
    const run = await runOver(2);
    await gate.holds(2);
    await stopping.close();
    expect(gate.heldCount).toBe(0);
    expect(await on.run(run.score_run_id)).toMatchObject({
      run_status: 'running',
      completed_count: 0,
      failed_count: 0,
    });
    gate.release({ open: true });
    await newWorker();
    await on.finished(run.score_run_id);
    await expectScoredOnce(run, 2);
  });

  it('continues in another worker when its worker is killed, and scores each target once', async () => {
    const killed = await newProcess({ SCORER_THREADS: '1' });
    const run = await runOver(40, SLOW, { concurrency: 2 });
    let before = 0;
    while (before < 3) before = (await on.run(run.score_run_id)).completed_count as number;
    await killed.kill();
    const scoreIds = (await on.resultsOf(run.score_run_id)).map((one) => one.score_id as string);
    expect(scoreIds.length).toBeLessThan(40);

    const next = await newWorker();
    await expireLease(run.score_run_id);
    await next.get(ScoreRunExecutor).executeNext();
    await on.finished(run.score_run_id);
    await expectScoredOnce(run, 40);
    const results = (await on.resultsOf(run.score_run_id)).map((one) => one.score_id as string);
    expect(results).toEqual(expect.arrayContaining(scoreIds));
  }, 180_000);

  it('is executed when its job is lost', async () => {
    const run = await runOver(2);
    await loseJobs(app, env);
    await newWorker();
    gate.release({ open: true });
    await on.finished(run.score_run_id);
    await expectScoredOnce(run, 2);
  });

  it('is executed when its worker and its job are lost', async () => {
    const run = await runOver(2);
    await loseJobs(app, env);
    await inDatabase(
      `UPDATE score_runs SET run_status = 'running', lease_token = 'gone', started_at = now(),
              lease_expires_at = now() - interval '1 minute' WHERE score_run_id = $1`,
      run.score_run_id,
    );
    await newWorker();
    gate.release({ open: true });
    await on.finished(run.score_run_id);
    await expectScoredOnce(run, 2);
  });

  if (env.REDIS_URL) return; // the rest does not depend on the queue

  it('is scored by one worker at a time', async () => {
    const [first, second] = [await newWorker(), await newWorker()];
    const run = await runOver(3);
    await gate.holds(3);
    for (const worker of [first, second]) await worker.get(ScoreRunExecutor).executeNext();
    expect(gate.heldCount).toBe(3);
    gate.release();
    await on.finished(run.score_run_id);
    expect(gate.requests).toHaveLength(3);
  });

  it('ends with every target scored once when two workers take it', async () => {
    const first = await newWorker();
    // The first worker must not notice that it has lost the run before the second one has called the judge.
    const renewed = jest.spyOn(first.get(RunExecutionRepository), 'renew').mockResolvedValue(true);
    const run = await runOver(4, JUDGE, { concurrency: 2 });
    await gate.holds(2);
    const second = await newWorker();
    await expireLease(run.score_run_id);
    const execution = second.get(ScoreRunExecutor).executeNext();
    await gate.holds(4);
    renewed.mockRestore();
    gate.release({ open: true });
    await execution;
    expect(await on.finished(run.score_run_id)).toMatchObject({
      run_status: 'succeeded',
      completed_count: 4,
    });
    await expectScoredOnce(run, 4);
  });

  it('does not overwrite the scores of a newer version of its scorer', async () => {
    await newWorker();
    const scorer = await on.scorer(JUDGE);
    const run = await runOfScorer(scorer);
    await gate.holds(1);
    const definition = { ...JUDGE.definition, prompt: 'newer' };
    await on.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { definition });
    const { body: newer } = await on.score(scorer, { experiment_id: run.experiment_id });
    await gate.holds(2);
    gate.release({ prompt: 'newer' });
    await on.finished(newer.score_run_id);
    gate.release();
    expect(await on.finished(run.score_run_id)).toMatchObject({ run_status: 'succeeded', scorer_version: 1 });
    const written = await on.evaluator.get(`/eval/v1/experiments/${run.experiment_id}/results`);
    expect(written.body.items[0].score_details[scorer.name]).toMatchObject({
      scorer_version: 2,
      metadata: { score_run_id: newer.score_run_id },
    });
  });

  it('fails at its deadline, with an error for each target that was not scored', async () => {
    await newWorker({ SCORE_RUN_SECONDS: '6' });
    const run = await runOver(3, JUDGE, { concurrency: 1 });
    await gate.holds(1);
    gate.release();
    await gate.holds(1);
    const finished = await on.finished(run.score_run_id);
    expect(finished).toMatchObject({
      run_status: 'failed',
      failure_code: 'deadline_exceeded',
      completed_count: 1,
      failed_count: 2,
    });
    const results = await on.resultsOf(run.score_run_id);
    expect(results.filter((one) => /reached its deadline/.test(one.error ?? ''))).toHaveLength(2);
  });

  it('fails after five lost workers', async () => {
    const run = await runOver(2);
    await inDatabase(
      `UPDATE score_runs SET run_status = 'running', lease_token = 'gone', started_at = now(), takeovers = 4,
              lease_expires_at = now() - interval '1 minute' WHERE score_run_id = $1`,
      run.score_run_id,
    );
    await newWorker();
    expect(await on.finished(run.score_run_id)).toMatchObject({
      run_status: 'failed',
      failure_code: 'worker_lost',
      failure_detail: '5 workers were lost while they held this run.',
      failed_count: 2,
    });
    expect(gate.requests).toEqual([]);
  });

  it('continues after four lost workers', async () => {
    const run = await runOver(2);
    await inDatabase(
      `UPDATE score_runs SET run_status = 'running', lease_token = 'gone', started_at = now(), takeovers = 3,
              lease_expires_at = now() - interval '1 minute' WHERE score_run_id = $1`,
      run.score_run_id,
    );
    gate.release({ open: true });
    await newWorker();
    expect(await on.finished(run.score_run_id)).toMatchObject({ run_status: 'succeeded' });
  });

  it('of a batch continues in another worker when its worker is killed, and the batch scores each target once', async () => {
    const traces = 210;
    await inDatabase(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, root_name)
       SELECT $1, md5($1 || n), timestamptz '2026-01-01' + n * interval '1 ms', timestamptz '2026-01-02', 1, 0, '{}', 'root'
       FROM generate_series(1, $2::int) n`,
      on.workspaceId,
      traces,
    );
    const killed = await newProcess({ SCORER_THREADS: '1' });
    const { body: batch } = await on.batch(await on.scorer(SLOW), {
      since: '2025-01-01T00:00:00Z',
      concurrency: 2,
    });
    await until(async () => (await on.readBatch(batch)).completed_count >= 5);
    await killed.kill();
    const before = await on.readBatch(batch);
    expect(before.completed_count).toBeLessThan(traces);

    const next = await newWorker();
    for (const { score_run_id, run_status } of await on.runsOfBatch(batch)) {
      if (run_status !== 'running') continue;
      await expireLease(score_run_id as string);
      void next.get(ScoreRunExecutor).executeNext();
    }
    expect(await on.finishedBatch(batch)).toMatchObject({
      batch_status: 'succeeded',
      completed_count: traces,
      failed_count: 0,
      run_count: 3,
    });
    const times = await inDatabase(
      `SELECT times, count(*) AS targets FROM (
         SELECT s.target_id, count(*) AS times FROM target_outcomes s JOIN score_runs r USING (score_run_id)
         WHERE r.score_batch_id = $1 GROUP BY 1) t GROUP BY 1 ORDER BY 1`,
      batch.score_batch_id,
    );
    expect(times).toEqual([{ times: 1, targets: traces }]);
  }, 180_000);
});

/** Deletes all jobs of the queue, as the restart of a Redis without persistence does. */
async function loseJobs(app: TestApp, env: Record<string, string>): Promise<void> {
  if (!env.REDIS_URL) {
    await app.database.query('DELETE FROM bullmq.dedup');
    await app.database.query('DELETE FROM bullmq.job');
    return;
  }
  const redis = new Redis(env.REDIS_URL);
  // Jobs that are sent after a commit may not have arrived yet.
  const pattern = `${env.REDIS_PREFIX}:score-run:*`;
  let keys: string[] = [];
  while (keys.length === 0) keys = await redis.keys(pattern);
  await redis.del(...keys);
  redis.disconnect();
}
