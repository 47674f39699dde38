import { createTestApp, type TestApp, TestJudge, WorkerProcess } from '#testing';
import { JUDGE } from './gate.fixture';
import { JudgeFixture, says } from './judge.fixture';

const TARGETS = 32;
const RUNS = 4;
const TRACE_BYTES = 2 * 1024 * 1024;
/** How long the judge refuses every request, in ms. Longer than it takes to read all subjects. */
const OUTAGE_MS = 8_000;

describe('targets that wait for their judge', () => {
  let judge: TestJudge;
  let app: TestApp;
  let worker: WorkerProcess;

  beforeAll(async () => {
    judge = await TestJudge.listen();
    app = await createTestApp({ env: { ...judge.env, JUDGE_CONTEXT_TOKENS: '10000' } });
    // The heap is too small for the subjects of all these targets.
    worker = await WorkerProcess.start(app, {
      NODE_OPTIONS: '--max-old-space-size=220',
      WORKER_CONCURRENCY: '2',
    });
  });
  afterAll(async () => {
    await worker.kill();
    await app.close();
    await judge.close();
  });

  it('take only the memory of their requests', async () => {
    const fixture = await JudgeFixture.create(app);
    const experiment = await fixture.scoring.experiment();
    const output = 'x'.repeat(TRACE_BYTES);
    for (let input = 0; input < TARGETS; input++) {
      const trace_id = await fixture.scoring.trace({ output });
      await fixture.scoring.results(experiment, [{ input, output: 'o', trace_id }]);
    }
    const begun = performance.now();
    judge.reply = () =>
      performance.now() - begun < OUTAGE_MS
        ? { status: 429, headers: { 'retry-after': '3' } }
        : says({ reasoning: 'r', value: true });
    const { experiment_id } = experiment;
    const runs = await Promise.all(
      Array.from({ length: RUNS }, async () => {
        const scorer = await fixture.scorer({ ...JUDGE.definition, prompt: '{{input}}: {{trace}}' });
        return (await fixture.scoring.score(scorer, { experiment_id, concurrency: 32 })).body
          .score_run_id as string;
      }),
    );
    for (const runId of runs) {
      expect(await fixture.scoring.finished(runId)).toMatchObject({
        run_status: 'succeeded',
        completed_count: TARGETS,
      });
    }
    const rows = await app.database.query<any>('SELECT takeovers FROM score_runs');
    expect(rows.map(({ takeovers }) => takeovers)).toEqual(Array(RUNS).fill(0));
  }, 180_000);
});
