import { createTestApp, createTestWorker, type TestApp, type TestWorker } from '#testing';
import { RunWorkRepository } from '../../src/evaluation/scoring/run-work.repository';
import { ScoreRunExecutor } from '../../src/evaluation/scoring/score-run.executor';
import { ScoringFixture } from '../e2e/evaluation/scoring.fixture';
import { describeOnBothQueues } from './backends.fixture';
import { Gate, JUDGE } from './gate.fixture';

const script = (source: string) => ({ definition: { language: 'javascript', source } });
const indexes = (count: number) => Array.from({ length: count }, (_, index) => ({ input: index }));

describeOnBothQueues('a scoring run', (env) => {
  let app: TestApp;
  let worker: TestWorker;
  let gate: Gate;
  let on: ScoringFixture;

  beforeAll(async () => {
    gate = await Gate.listen();
    app = await createTestApp({ env: { ...env, ...gate.env } });
    worker = await createTestWorker(app, { WORKER_CONCURRENCY: '6' });
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

  /** Queues a run over an experiment's results. */
  const runOver = async (items: object[], members: object = {}, body: object = {}): Promise<any> => {
    const experiment = await on.experiment();
    const results = await on.results(experiment, items);
    const scorer = await on.scorer(members);
    const { experiment_id } = experiment;
    const { body: run } = await on.score(scorer, { experiment_id, ...body });
    return { experiment, results, scorer, run };
  };
  const resultsOf = async ({ experiment_id }: any): Promise<any[]> =>
    (await on.evaluator.get(`/eval/v1/experiments/${experiment_id}/results?sort=created_at`)).body.items;
  const cancel = (id: string) => on.evaluator.post(`/eval/v1/score-runs/${id}/cancel`);
  const finalize = ({ experiment_id }: any) =>
    on.evaluator.patch(`/eval/v1/experiments/${experiment_id}`, { experiment_status: 'completed' });

  it('scores every target, keeps what came of each, and succeeds', async () => {
    const { run, results } = await runOver([
      { output: 'a', expected: 'a' },
      { output: 'a', expected: 'b' },
    ]);
    const finished = await on.finished(run.score_run_id);
    expect(finished).toMatchObject({
      run_status: 'succeeded',
      total: 2,
      completed_count: 2,
      failed_count: 0,
      failure_code: null,
      failure_detail: null,
    });
    expect(Date.parse(finished.started_at)).toBeLessThanOrEqual(Date.parse(finished.finished_at));
    const scores = await on.resultsOf(run.score_run_id);
    const byTrace = new Map(scores.map((one) => [one.trace_id, one.score]));
    expect(results.map((result: any) => byTrace.get(result.trace_id))).toEqual([1, 0]);
    expect(scores[0]).toMatchObject({
      score_id: expect.stringMatching(/^score_/),
      score_run_id: run.score_run_id,
      scorer_id: run.scorer_id,
      scorer_version: 1,
      elapsed_ms: expect.any(Number),
    });
  });

  it('lands its scores in the results of a running experiment, under the scorer’s name', async () => {
    const source = `function score({ input }) {
      if (input === 'abstain') return null;
      if (input === 'fail') throw new Error('no');
      return { score: 0.5, label: 'fair', reasoning: 'because', answers: { a: 1 } };
    }`;
    const items = [{ input: 'x', scores: { own: 1 } }, { input: 'abstain' }, { input: 'fail' }];
    const { experiment, scorer, run } = await runOver(items, { name: 'judgement', ...script(source) });
    await on.finished(run.score_run_id);
    const [scored, abstained, failed] = await resultsOf(experiment);
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
    const final = await finalize(experiment);
    expect(final.body.summary).toMatchObject({
      scores: { judgement: { mean: 0.5, count: 1 } },
      scorers: { judgement: { scorer_id: scorer.scorer_id, scorer_version: 1 } },
    });
  });

  it('lands each score in every result of the experiment that names the trace, and in no other', async () => {
    const [experiment, other] = [await on.experiment(), await on.experiment()];
    const [trace_id] = (await on.results(experiment, [{ input: 'older' }])).map((one) => one.trace_id);
    await on.results(experiment, [{ trace_id, input: 'newer' }, { trace_id: null }]);
    await on.results(other, [{ trace_id }]);
    const scorer = await on.scorer({ name: 'judgement', ...script('function score() { return 0.5; }') });
    const { body: run } = await on.score(scorer, { experiment_id: experiment.experiment_id });
    await on.finished(run.score_run_id);
    const scores = (await resultsOf(experiment)).map((result) => result.scores);
    expect(scores).toEqual([{ judgement: 0.5 }, { judgement: 0.5 }, {}]);
    expect((await resultsOf(other))[0].scores).toEqual({});
  });

  it('leaves alone what a client wrote under the scorer’s name, also where the scorer abstains', async () => {
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
    const before = await resultsOf(experiment);
    const { body: run } = await on.score(scorer, { experiment_id: experiment.experiment_id });
    await on.finished(run.score_run_id);
    const after = await resultsOf(experiment);
    expect(after.slice(0, 4)).toEqual(before.slice(0, 4));
    expect(after[4].scores).toEqual({ other: 0.9, judgement: 0.5 });
    const kept = (await on.resultsOf(run.score_run_id)).map((one) => one.score);
    expect(kept.sort()).toEqual([0.5, 0.5, 0.5, undefined, undefined]);
  });

  it('replaces in a result what an earlier run of the same scorer left there', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, indexes(1));
    const scorer = await on.scorer({ name: 'judgement' });
    for (const answer of ['0.25', '0.75', 'null', '1']) {
      const changed = script(`function score() { return ${answer}; }`);
      await on.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, changed);
      const { body: run } = await on.score(scorer, { experiment_id: experiment.experiment_id });
      await on.finished(run.score_run_id);
      const [{ scores, score_details }] = await resultsOf(experiment);
      expect(scores).toEqual({ judgement: JSON.parse(answer) });
      expect(score_details.judgement).toMatchObject({
        scorer_version: run.scorer_version,
        metadata: { score_run_id: run.score_run_id },
      });
    }
  });

  it('only selects from a frozen experiment, whose results and summary stay as they are', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, indexes(2));
    const frozen = (await finalize(experiment)).body;
    const { body: run } = await on.score(await on.scorer(), { experiment_id: experiment.experiment_id });
    expect((await on.finished(run.score_run_id)).run_status).toBe('succeeded');
    for (const result of await resultsOf(experiment)) expect(result.scores).toEqual({});
    const read = await on.evaluator.get(`/eval/v1/experiments/${experiment.experiment_id}`);
    expect(read.body.summary).toEqual(frozen.summary);
  });

  it('lands nothing in an experiment that is finalized meanwhile: its later scores stay in the run', async () => {
    const { experiment, run } = await runOver(indexes(2), JUDGE);
    await gate.holds(2);
    const frozen = (await finalize(experiment)).body;
    expect(frozen.summary.scores).toEqual({});
    gate.release();
    expect(await on.finished(run.score_run_id)).toMatchObject({
      run_status: 'succeeded',
      completed_count: 2,
    });
    for (const result of await resultsOf(experiment)) expect(result.scores).toEqual({});
  });

  it('waits for an experiment that is just being finalized, and then lands nothing in it', async () => {
    const { experiment, run } = await runOver(indexes(1), JUDGE);
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
    expect((await resultsOf(experiment))[0].scores).toEqual({});
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
    for (const { scores } of await resultsOf(experiment))
      expect(scores).toEqual({ one: 1, two: 1, three: 1 });
  });

  it('fails where every target failed, and says so', async () => {
    const { run } = await runOver(indexes(3), script('function score() { throw new Error("broken") }'));
    const finished = await on.finished(run.score_run_id);
    expect(finished).toMatchObject({
      run_status: 'failed',
      failure_code: 'all_targets_failed',
      completed_count: 0,
      failed_count: 3,
    });
    expect(finished.failure_detail).toContain('broken');
    for (const one of await on.resultsOf(run.score_run_id)) {
      expect(one.error).toContain('broken');
      expect(one).not.toHaveProperty('score');
    }
  });

  it('fails where nothing was scored although not everything failed', async () => {
    const source = 'function score({ input }) { if (input) throw new Error("x"); return null; }';
    const { run } = await runOver(indexes(2), script(source));
    expect(await on.finished(run.score_run_id)).toMatchObject({
      run_status: 'failed',
      failure_code: 'no_scores',
      completed_count: 1,
      failed_count: 1,
    });
  });

  it('succeeds where one target was scored', async () => {
    const source = 'function score({ input }) { if (input) throw new Error("x"); return 0; }';
    const { run } = await runOver(indexes(3), script(source));
    expect(await on.finished(run.score_run_id)).toMatchObject({
      run_status: 'succeeded',
      completed_count: 1,
      failed_count: 2,
    });
  });

  it('uses the version of the scorer that was present when it was accepted', async () => {
    const { scorer, run } = await runOver(indexes(5), JUDGE);
    await gate.holds(4);
    const changed = { definition: { ...JUDGE.definition, prompt: 'other' } };
    await on.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, changed);
    await on.evaluator.post(`/eval/v1/scorers/${scorer.scorer_id}/archive`);
    // taken over, the run is scored by what is read of its scorer now
    const sql = `UPDATE score_runs SET lease_expires_at = now() - interval '1 s' WHERE score_run_id = $1`;
    await app.database.query(sql, [run.score_run_id]);
    const taken = worker.get(ScoreRunExecutor).execute(run.score_run_id);
    while (gate.asked.length < 6) await gate.holds(gate.heldCount + 1);
    gate.release({ open: true });
    await taken;
    await on.finished(run.score_run_id);
    gate.release();
    expect(gate.asked.length).toBeGreaterThan(5);
    for (const { prompt } of gate.asked) expect(prompt).toMatch(/^judge: /);
    for (const one of await on.resultsOf(run.score_run_id)) expect(one.scorer_version).toBe(1);
  });

  it('scores sessions', async () => {
    for (const session_id of ['a', 'b']) await on.trace({ sessionId: session_id, input: 'q', output: 'r' });
    const source = 'function score({ input, output }) { return input === "q" && output === "r"; }';
    const scorer = await on.scorer({ grain: 'session', ...script(source) });
    const { body: run } = await on.score(scorer, { session_ids: ['a', 'b'] });
    await on.finished(run.score_run_id);
    const results = await on.resultsOf(run.score_run_id);
    expect(results.map((one) => [one.session_id, one.score, one.trace_id]).sort()).toEqual([
      ['a', 1, undefined],
      ['b', 1, undefined],
    ]);
  });

  it('goes on, with unscored_only, where the call before ended', async () => {
    const experiment = await on.experiment();
    const results = await on.results(experiment, indexes(5));
    const scorer = await on.scorer(JUDGE);
    const body = { experiment_id: experiment.experiment_id, unscored_only: true, limit: 2 };
    const first = (await on.score(scorer, body)).body;
    await gate.holds(2);
    const second = (await on.score(scorer, body)).body;
    await gate.holds(4);
    gate.release({ open: true });
    await Promise.all([on.finished(first.score_run_id), on.finished(second.score_run_id)]);
    const third = (await on.score(scorer, body)).body;
    expect(third.total).toBe(1);
    await on.finished(third.score_run_id);
    gate.release();
    const exhausted = await on.score(scorer, body);
    expect(exhausted.status).toBe(400);
    const runs = [first, second, third];
    const scored = await Promise.all(runs.map((run) => on.resultsOf(run.score_run_id)));
    expect(
      scored
        .flat()
        .map((one) => one.trace_id)
        .sort(),
    ).toEqual(results.map((one) => one.trace_id).sort());
    await on.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { description: 'a new version' });
    expect((await on.score(scorer, body)).body.total).toBe(2);
    await gate.holds(2);
    gate.release();
  });

  it('tries with unscored_only what never was tried before what failed', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, indexes(2));
    const source = 'function score({ input }) { if (input < 3) throw new Error("x"); return 1; }';
    const scorer = await on.scorer(script(source));
    const { experiment_id } = experiment;
    const failed = (await on.score(scorer, { experiment_id })).body;
    await on.finished(failed.score_run_id);
    const older = await on.result(experiment, { input: 3 });
    const next = (await on.score(scorer, { experiment_id, unscored_only: true, limit: 2 })).body;
    await on.finished(next.score_run_id);
    const traces = (await on.resultsOf(next.score_run_id)).map((one) => one.trace_id);
    expect(traces).toContain(older.trace_id);
    expect(next.total).toBe(2);
  });

  it('has no more targets in flight than its concurrency', async () => {
    const { run } = await runOver(indexes(9), JUDGE, { concurrency: 3 });
    for (let done = 0; done < 9; done += 3) {
      await gate.holds(3);
      gate.release();
    }
    await on.finished(run.score_run_id);
    expect(gate.peak).toBe(3);
    expect(gate.asked).toHaveLength(9);
  });

  it('has no more targets in flight, over all runs, than its worker allows', async () => {
    const runs = await Promise.all([0, 1, 2].map(() => runOver(indexes(6), JUDGE, { concurrency: 6 })));
    for (let done = 0; done < 18; done += 6) {
      await gate.holds(6);
      gate.release();
    }
    for (const { run } of runs) await on.finished(run.score_run_id);
    expect(gate.peak).toBe(6);
  });

  it('is done once, however often it is delivered', async () => {
    const { run } = await runOver(indexes(4), JUDGE);
    await gate.holds(4);
    const executor = worker.get(ScoreRunExecutor);
    await Promise.all([executor.execute(run.score_run_id), executor.execute(run.score_run_id)]);
    expect((await on.run(run.score_run_id)).run_status).toBe('running');
    gate.release();
    await on.finished(run.score_run_id);
    await executor.execute(run.score_run_id);
    expect(gate.asked).toHaveLength(4);
    expect(await on.resultsOf(run.score_run_id)).toHaveLength(4);
  });

  it('is worked on only as what it is: a run of its workspace', async () => {
    const { run } = await runOver(indexes(1), JUDGE);
    await gate.holds(1);
    const sql = 'SELECT workspace_id, lease_token FROM score_runs WHERE score_run_id = $1';
    const [{ workspace_id, lease_token }] = await app.database.query<any>(sql, [run.score_run_id]);
    const work = worker.get(RunWorkRepository);
    const own = { score_run_id: run.score_run_id, workspace_id };
    const foreign = { ...own, workspace_id: 'wsp_other' };
    const [target] = await work.targetsLeft(own);
    expect(await work.targetsLeft(foreign)).toEqual([]);
    expect(await work.renew(foreign, lease_token, 10_000)).toBe(false);
    expect(await work.store(foreign, target!, 'score_x', { elapsed_ms: 1 }, null)).toBe(false);
    await work.release(foreign, lease_token);
    expect(await work.renew(own, lease_token, 10_000)).toBe(true);
    gate.release();
    expect((await on.finished(run.score_run_id)).run_status).toBe('succeeded');
  });

  it('can be cancelled in flight: what is scored stays, the rest ends with an error, nothing comes after', async () => {
    const { run, experiment } = await runOver(indexes(6), JUDGE, { concurrency: 3 });
    await gate.holds(3);
    gate.release();
    await gate.holds(3);
    const cancelled = await cancel(run.score_run_id);
    expect(cancelled.status).toBe(200);
    expect(cancelled.body).toMatchObject({
      run_status: 'failed',
      failure_code: 'cancelled',
      completed_count: 3,
      failed_count: 3,
    });
    gate.release();
    await executed(run.score_run_id);
    expect(await on.run(run.score_run_id)).toEqual(cancelled.body);
    const results = await on.resultsOf(run.score_run_id);
    expect(results.filter((one) => one.score === 1)).toHaveLength(3);
    expect(results.filter((one) => one.error)).toHaveLength(3);
    const landed = (await resultsOf(experiment)).filter((result) => Object.keys(result.scores).length > 0);
    expect(landed).toHaveLength(3);
    expect(gate.asked).toHaveLength(6);
  });

  it('cannot be cancelled once it has ended', async () => {
    const { run } = await runOver(indexes(1));
    await on.finished(run.score_run_id);
    const answer = await cancel(run.score_run_id);
    expect(answer.status).toBe(409);
    expect(answer.body.code).toBe('conflict');
  });

  it('keeps texts that PostgreSQL cannot hold in a form that it can', async () => {
    const source = String.raw`function score() {
      return { score: 1, label: 'a\0b', reasoning: 'c\ud800d', answers: { 'e\0': '\udfff' } };
    }`;
    const { run } = await runOver(indexes(1), script(source));
    expect(await on.finished(run.score_run_id)).toMatchObject({ run_status: 'succeeded' });
    const [result] = await on.resultsOf(run.score_run_id);
    expect(result).toMatchObject({
      choice: 'a\uFFFDb',
      reasoning: 'c\uFFFDd',
      answers: { 'e\uFFFD': '\uFFFD' },
    });
  });

  /** Waits until no worker holds the run any more. */
  const executed = async (runId: string): Promise<void> => {
    for (;;) {
      const sql = 'SELECT lease_token FROM score_runs WHERE score_run_id = $1';
      const [row] = await app.database.query<{ lease_token: string | null }>(sql, [runId]);
      if (row!.lease_token === null && gate.heldCount === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
});

/** Waits until a session of the database waits for a lock. */
async function blockedOn(app: TestApp): Promise<void> {
  for (;;) {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    if ((await app.database.query(sql)).length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
