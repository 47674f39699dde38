import { createTestApp, createTestWorker, type TestApp, type TestWorker } from '#testing';
import { ScoringFixture, script } from '../e2e/evaluation/scoring.fixture';
import { describeOnBothQueues } from './backends.fixture';
import { Gate, JUDGE } from './gate.fixture';

const indexes = (count: number) => Array.from({ length: count }, (_, index) => ({ input: index }));

describeOnBothQueues('a scoring run with an experiment', (env) => {
  let app: TestApp;
  let worker: TestWorker;
  let gate: Gate;
  let on: ScoringFixture;

  beforeAll(async () => {
    gate = await Gate.listen();
    app = await createTestApp({ env: { ...env, ...gate.env } });
    worker = await createTestWorker(app);
  });
  afterAll(async () => {
    await gate.close();
    await worker.close();
    await app.close();
  });
  beforeEach(async () => {
    gate.reset();
    on = await ScoringFixture.create(app);
  });

  it('writes its scores back to the results of a running experiment, under the scorer’s name', async () => {
    const source = `function score({ input }) {
      if (input === 'abstain') return null;
      if (input === 'fail') throw new Error('no');
      return { score: 0.5, label: 'fair', reasoning: 'because', answers: { a: 1 } };
    }`;
    const items = [{ input: 'x', scores: { own: 1 } }, { input: 'abstain' }, { input: 'fail' }];
    const { experiment, scorer, run } = await on.runOver(items, { name: 'judgement', ...script(source) });
    await on.finished(run.score_run_id);
    const [scored, abstained, failed] = await on.resultsOfExperiment(experiment);
    expect(scored.scores).toEqual({ own: 1, judgement: 0.5 });
    expect(scored.score_details.judgement).toEqual({
      comment: 'because',
      label: 'fair',
      scorer_id: scorer.scorer_id,
      scorer_version: 1,
      metadata: { score_run_id: run.score_run_id, answers: { a: 1 } },
    });
    expect(abstained.scores).toEqual({ judgement: null });
    expect(failed.scores).toEqual({});
    const final = await on.finalize(experiment);
    expect(final.body.summary).toMatchObject({
      scores: { judgement: { mean: 0.5, count: 1 } },
      scorers: { judgement: { scorer_id: scorer.scorer_id, scorer_version: 1 } },
    });
  });

  it('writes each score back to every result of the experiment that names the trace, and to no other', async () => {
    const [experiment, other] = [await on.experiment(), await on.experiment()];
    const [trace_id] = (await on.results(experiment, [{ input: 'older' }])).map((one) => one.trace_id);
    await on.results(experiment, [{ trace_id, input: 'newer' }, { trace_id: null }]);
    await on.results(other, [{ trace_id }]);
    const scorer = await on.scorer({ name: 'judgement', ...script('function score() { return 0.5; }') });
    const { body: run } = await on.score(scorer, { experiment_id: experiment.experiment_id });
    await on.finished(run.score_run_id);
    const scores = (await on.resultsOfExperiment(experiment)).map((result) => result.scores);
    expect(scores).toEqual([{ judgement: 0.5 }, { judgement: 0.5 }, {}]);
    expect((await on.resultsOfExperiment(other))[0].scores).toEqual({});
  });

  it('does not overwrite a client’s score of the same name', async () => {
    const scorer = await on.scorer({
      name: 'judgement',
      ...script('function score({ input }) { return input === "abstain" ? null : 0.5; }'),
    });
    const ran = { score: 0.9, scorer_id: scorer.scorer_id, scorer_version: 1 };
    const experiment = await on.experiment();
    const items = [
      { input: 'abstain', scores: { judgement: { score: 0.9, comment: 'mine' } } },
      { input: 'score', scores: { judgement: 0.9 } },
      { input: 'score', scores: { judgement: null } },
      { input: 'abstain', scores: { judgement: ran } },
      { input: 'score', scores: { other: 0.9 } },
    ];
    await on.results(experiment, items);
    const before = await on.resultsOfExperiment(experiment);
    const { body: run } = await on.score(scorer, { experiment_id: experiment.experiment_id });
    await on.finished(run.score_run_id);
    const after = await on.resultsOfExperiment(experiment);
    expect(after.slice(0, 4)).toEqual(before.slice(0, 4));
    expect(after[4].scores).toEqual({ other: 0.9, judgement: 0.5 });
    const kept = (await on.resultsOf(run.score_run_id)).map((one) => one.score);
    expect(kept.sort()).toEqual([0.5, 0.5, 0.5, undefined, undefined]);
  });

  it('replaces scores of earlier runs of the same scorer', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, indexes(1));
    const scorer = await on.scorer({ name: 'judgement' });
    for (const answer of ['0.25', '0.75', 'null', '1']) {
      const changed = script(`function score() { return ${answer}; }`);
      await on.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, changed);
      const { body: run } = await on.score(scorer, { experiment_id: experiment.experiment_id });
      await on.finished(run.score_run_id);
      const [{ scores, score_details }] = await on.resultsOfExperiment(experiment);
      expect(scores).toEqual({ judgement: JSON.parse(answer) });
      expect(score_details.judgement).toMatchObject({
        scorer_version: run.scorer_version,
        metadata: { score_run_id: run.score_run_id },
      });
    }
  });

  it('writes nothing back to a frozen experiment', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, indexes(2));
    const frozen = (await on.finalize(experiment)).body;
    const { body: run } = await on.score(await on.scorer(), { experiment_id: experiment.experiment_id });
    expect((await on.finished(run.score_run_id)).run_status).toBe('succeeded');
    for (const result of await on.resultsOfExperiment(experiment)) expect(result.scores).toEqual({});
    const read = await on.evaluator.get(`/eval/v1/experiments/${experiment.experiment_id}`);
    expect(read.body.summary).toEqual(frozen.summary);
  });

  it('writes nothing back to an experiment that is finalized meanwhile', async () => {
    const { experiment, run } = await on.runOver(indexes(2), JUDGE);
    await gate.holds(2);
    const frozen = (await on.finalize(experiment)).body;
    expect(frozen.summary.scores).toEqual({});
    gate.release();
    expect(await on.finished(run.score_run_id)).toMatchObject({
      run_status: 'succeeded',
      completed_count: 2,
    });
    for (const result of await on.resultsOfExperiment(experiment)) expect(result.scores).toEqual({});
  });

  it('waits for a finalization in progress, and then writes nothing back', async () => {
    const { experiment, run } = await on.runOver(indexes(1), JUDGE);
    await gate.holds(1);
    const { experiment_id } = experiment;
    await app.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM experiments WHERE experiment_id = $1 FOR UPDATE', [experiment_id]);
      gate.release();
      await blockedOn(app);
      const sql = `UPDATE experiments SET experiment_status = 'completed' WHERE experiment_id = $1`;
      await tx.query(sql, [experiment_id]);
    });
    await on.finished(run.score_run_id);
    expect((await on.resultsOfExperiment(experiment))[0].scores).toEqual({});
    expect(await on.resultsOf(run.score_run_id)).toHaveLength(1);
  });

  it('loses no score when two runs score the same results at once', async () => {
    const experiment = await on.experiment();
    const made = await on.results(experiment, indexes(20));
    await on.results(
      experiment,
      made.map(({ trace_id }) => ({ trace_id })),
    );
    const { experiment_id } = experiment;
    const runs = await Promise.all(
      ['one', 'two', 'three'].map(async (name) =>
        on.score(await on.scorer({ name, ...script('function score() { return 1; }') }), {
          experiment_id,
        }),
      ),
    );
    for (const { body } of runs) await on.finished(body.score_run_id);
    for (const { scores } of await on.resultsOfExperiment(experiment))
      expect(scores).toEqual({ one: 1, two: 1, three: 1 });
  });
});

/** Waits until a session of the database waits for a lock. */
async function blockedOn(app: TestApp): Promise<void> {
  for (;;) {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    if ((await app.database.query(sql)).length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
