import { createTestApp, createTestWorker, type TestApp, type TestWorker } from '#testing';
import { Gate, JUDGE } from './gate.fixture';
import { inputs, JudgeFixture, says } from './judge.fixture';

describe('a judge that hangs in one workspace', () => {
  let gate: Gate;
  let app: TestApp;
  let worker: TestWorker;
  let hanging: JudgeFixture;
  let other: JudgeFixture;

  const start = async (env: Record<string, string> = {}): Promise<void> => {
    app = await createTestApp({ env: { ...gate.env, ...env } });
    worker = await createTestWorker(app, { WORKER_CONCURRENCY: '2' });
    hanging = await JudgeFixture.create(app);
    other = await JudgeFixture.create(app);
  };
  beforeEach(async () => {
    gate = await Gate.listen();
  });
  afterEach(async () => {
    gate.judge.reply = () => ({ status: 400 });
    gate.release({ open: true });
    await worker.close();
    await app.close();
    await gate.close();
  });

  /** Starts a run over this many targets with the highest concurrency. */
  const ask = async (count: number): Promise<string> => {
    const scorer = await hanging.scorer({ ...JUDGE.definition, prompt: 'hanging: {{input}}' });
    const { experiment_id } = await hanging.experiment(...inputs(count));
    const { body } = await hanging.scoring.score(scorer, { experiment_id, concurrency: 32 });
    return body.score_run_id;
  };

  it('does not delay code scorers', async () => {
    await start();
    const runId = await ask(8);
    await gate.holds(2);
    for (const fixture of [other, hanging]) {
      const { run } = await fixture.completeRun(
        await fixture.scoring.scorer(),
        await fixture.experiment(...inputs(8)),
      );
      expect(run).toMatchObject({ run_status: 'succeeded', completed_count: 8 });
    }
    // None of the waiting requests was aborted.
    expect(gate.requests).toHaveLength(2);
    expect(await hanging.scoring.run(runId)).toMatchObject({ run_status: 'running', completed_count: 0 });
  });

  it('delays a judge of another workspace by one turn at a time', async () => {
    await start({ JUDGE_TIMEOUT_MS: '5000' });
    const isHanging = ({ prompt }: { prompt: string }): boolean => prompt.startsWith('hanging');
    gate.judge.reply = (request) => (isHanging(request) ? 'hangs' : says({ reasoning: 'r', value: true }));
    const runId = await ask(64);
    while (gate.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    const scorer = await other.scorer(JUDGE.definition);
    const { run } = await other.completeRun(scorer, await other.experiment(...inputs(3)), { concurrency: 1 });
    expect(run).toMatchObject({ run_status: 'succeeded', completed_count: 3 });
    expect(await hanging.scoring.run(runId)).toMatchObject({ run_status: 'running', completed_count: 0 });
    const [first, second, third] = gate.requests.flatMap((request, at) => (isHanging(request) ? [] : at));
    // First come, first served would put about thirty requests in between.
    expect(second! - first!).toBeLessThanOrEqual(4);
    expect(third! - second!).toBeLessThanOrEqual(4);
  }, 120_000);
});
