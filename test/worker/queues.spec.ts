import { randomBytes } from 'node:crypto';
import { createTestWorker, describeWithRedis, ownApp, type TestWorker, until } from '#testing';
import { ScoringFixture } from '../e2e/evaluation/scoring.fixture';
import { ALWAYS, RulesFixture, skipQuietSecond } from './scoring-rules.fixture';

/** The other files of this folder use the queue in PostgreSQL. */
describeWithRedis('with the queue in Redis', (url) => {
  const app = ownApp({
    env: { REDIS_URL: url, REDIS_PREFIX: `{test-${randomBytes(6).toString('hex')}}` },
  });
  let worker: TestWorker;

  beforeAll(async () => {
    worker = skipQuietSecond(await createTestWorker(app));
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await worker.close();
  });

  it('a run is scored', async () => {
    const on = await ScoringFixture.create(app);
    const { run } = await on.runOver([
      { output: 'a', expected: 'a' },
      { output: 'a', expected: 'b' },
    ]);
    expect(await on.finished(run.score_run_id)).toMatchObject({
      run_status: 'succeeded',
      completed_count: 2,
      failed_count: 0,
    });
    expect((await on.resultsOf(run.score_run_id)).map(({ score }) => score as number).sort()).toEqual([0, 1]);
  });

  it('a batch is scored, run after run', async () => {
    const on = await ScoringFixture.create(app);
    const experiment = await on.experiment();
    for (let count = 0; count < 5; count++)
      await on.results(
        experiment,
        Array.from({ length: 90 }, (_, input) => ({ input })),
      );
    const { experiment_id } = experiment;
    const { body } = await on.batch(await on.scorer(ALWAYS), { experiment_id, concurrency: 16 });
    expect(await on.finishedBatch(body)).toMatchObject({
      batch_status: 'succeeded',
      completed_count: 450,
      run_count: 5,
    });
  });

  it('a rule starts runs by itself', async () => {
    const rules = await RulesFixture.create(app, () => [worker]);
    const rule = await rules.rule();
    const traceId = await rules.on.trace();
    await until(async () => (await rules.runs(rule)).length > 0);
    expect(await rules.scored(rule)).toEqual([traceId]);
  });
});
