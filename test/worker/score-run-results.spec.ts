import type { TestApp } from '#testing';
import { script } from '../e2e/evaluation/scoring.fixture';
import { type GatedService, JUDGE, withGate } from './gate.fixture';

const indexes = (count: number) => Array.from({ length: count }, (_, index) => ({ input: index }));

describe('a scoring run with an experiment', () => {
  let app: GatedService['app'];
  let gate: GatedService['gate'];
  let on: GatedService['on'];
  withGate((service) => ({ app, gate, on } = service));

  it('gives the results of the experiment scores, under the scorer’s name', async () => {
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

  it('scores each result of the experiment and no other, even two of one trace and one without a trace', async () => {
    const [experiment, other] = [await on.experiment(), await on.experiment()];
    const [older] = await on.results(experiment, [{ case_id: 'older', output: 1, expected: 1 }]);
    const { trace_id } = older;
    await on.results(experiment, [
      { case_id: 'newer', trace_id, output: 1, expected: 2 },
      { case_id: 'crashed', trace_id: null, expected: 1, error: { message: 'timeout' } },
    ]);
    await on.results(other, [{ trace_id, output: 1, expected: 1 }]);
    const scorer = await on.scorer({ name: 'judgement' });
    const { body: run } = await on.score(scorer, { experiment_id: experiment.experiment_id });
    expect(run.total).toBe(3);
    expect(await on.finished(run.score_run_id)).toMatchObject({
      completed_count: 3,
      not_written_back_count: 0,
    });
    const results = await on.resultsOfExperiment(experiment);
    expect(results.map(({ scores }) => scores.judgement)).toEqual([1, 0, 0]);
    const scores = await on.resultsOf(run.score_run_id);
    expect(new Map(scores.map((one) => [one.result_id, [one.case_id, one.trace_id, one.score]]))).toEqual(
      new Map(
        results.map((one) => [one.result_id, [one.case_id, one.trace_id ?? undefined, one.scores.judgement]]),
      ),
    );
    expect((await on.resultsOfExperiment(other))[0].scores).toEqual({});
    const final = await on.finalize(experiment);
    expect(final.body.summary.scores.judgement).toEqual({ mean: 1 / 3, count: 3 });
  });

  /** Returns the hosted scores of an experiment that are not superseded, by case. */
  const hostedScores = ({ experiment_id }: { experiment_id: string }): Promise<any[]> =>
    app.database.query(
      `SELECT case_id, scorer_name, scorer_version, scorer_id, score, is_late FROM scores
       WHERE experiment_id = $1 AND source = 'hosted' AND superseded_at IS NULL ORDER BY case_id, scorer_version`,
      [experiment_id],
    );

  it('stores scores and deliberate nulls, but no score for an error', async () => {
    const source = `function score({ input }) {
      if (input === 'fail') throw new Error('no');
      return input === 'abstain' ? null : 0.5;
    }`;
    const items = ['abstain', 'fail', 'score'].map((input) => ({ case_id: input, input }));
    const { experiment, scorer, run } = await on.runOver(items, { name: 'judgement', ...script(source) });
    await on.finished(run.score_run_id);
    const { scorer_id } = scorer;
    const row = { scorer_name: 'judgement', scorer_version: 1, scorer_id, is_late: false };
    expect(await hostedScores(experiment)).toEqual([
      { case_id: 'abstain', ...row, score: null },
      { case_id: 'score', ...row, score: 0.5 },
    ]);
  });

  it('takes precedence over a client’s score of the same name, which stays in the list as superseded', async () => {
    const items = [
      { case_id: 'a', scores: { judgement: { score: 0.9, comment: 'mine' } } },
      { case_id: 'b', input: 'abstain', scores: { judgement: 1 } },
      { case_id: 'c', input: 'fail', scores: { judgement: 0.7 } },
    ];
    const source = `function score({ input }) {
      if (input === 'fail') throw new Error('no');
      return input === 'abstain' ? null : 0.5;
    }`;
    const { experiment, run } = await on.runOver(items, { name: 'judgement', ...script(source) });
    expect(await on.finished(run.score_run_id)).toMatchObject({
      completed_count: 2,
      not_written_back_count: 0,
    });
    const shown = async () =>
      (await on.resultsOfExperiment(experiment)).map(({ scores }) => scores.judgement);
    expect(await shown()).toEqual([0.5, null, 0.7]);
    const listed = async (query: string) =>
      (
        await on.evaluator.get(`/eval/v1/scores?experiment_id=${experiment.experiment_id}&${query}`)
      ).body.items.map(({ case_id, source: by, score }: any) => `${case_id} ${by} ${score}`);
    expect((await listed('sort=created_at')).sort()).toEqual([
      'a hosted 0.5',
      'b hosted null',
      'c client 0.7',
    ]);
    expect((await listed('include_superseded=true&source=client')).sort()).toEqual([
      'a client 0.9',
      'b client 1',
      'c client 0.7',
    ]);
    const [{ result_id }] = await on.resultsOfExperiment(experiment);
    const path = `/eval/v1/experiments/${experiment.experiment_id}/results/${result_id}`;
    const patched = await on.evaluator.patch(path, { scores: { judgement: 1, own: 1 } });
    expect([patched.status, patched.body.scores]).toEqual([200, { judgement: 0.5, own: 1 }]);
    const body = { workspace_id: on.workspaceId, scorer_name: 'judgement', result_id, score: 0 };
    const later = await on.evaluator.post('/eval/v1/scores', body);
    expect(later.body.superseded_by_score_id).toMatch(/^score_/);
    expect(await shown()).toEqual([0.5, null, 0.7]);
    const { summary } = (await on.finalize(experiment)).body;
    expect(summary.scores).toEqual({ judgement: { mean: 0.6, count: 2 }, own: { mean: 1, count: 1 } });
  });

  it('gives no score to a result that was replaced meanwhile, and counts it', async () => {
    const { experiment, run } = await on.runOver(indexes(2), { name: 'judgement', ...JUDGE });
    await gate.holds(2);
    const [{ result_id }] = await on.resultsOfExperiment(experiment);
    await app.database.query('UPDATE results SET version = 2 WHERE result_id = $1', [result_id]);
    gate.release();
    expect(await on.finished(run.score_run_id)).toMatchObject({
      completed_count: 2,
      not_written_back_count: 1,
    });
    const [replaced, scored] = await on.resultsOfExperiment(experiment);
    expect([replaced.scores, scored.scores]).toEqual([{}, { judgement: 1 }]);
    expect(await hostedScores(experiment)).toHaveLength(1);
  });

  it('scores only replaced results again with unscored_only', async () => {
    const { experiment, scorer, run } = await on.runOver(indexes(2));
    await on.finished(run.score_run_id);
    const body = { experiment_id: experiment.experiment_id, unscored_only: true };
    expect((await on.score(scorer, body)).body.total).toBe(0);
    const [{ result_id, case_id }] = await on.resultsOfExperiment(experiment);
    await app.database.query('UPDATE results SET version = 2 WHERE result_id = $1', [result_id]);
    const again = await on.score(scorer, { ...body, mode: 'preview' });
    expect(again.body.results).toMatchObject([{ result_id, case_id }]);
    expect(again.body.results).toHaveLength(1);
  });

  it('shows the scores of the newest version, and keeps those of earlier ones for comparisons', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, [{ case_id: 'a' }]);
    const scorer = await on.scorer({ name: 'judgement', ...script('function score() { return 0.25; }') });
    for (const score of [0.25, 0.75]) {
      await on.evaluator.patch(
        `/eval/v1/scorers/${scorer.scorer_id}`,
        script(`function score() { return ${score}; }`),
      );
      const { body: run } = await on.score(scorer, { experiment_id: experiment.experiment_id });
      await on.finished(run.score_run_id);
    }
    expect(await hostedScores(experiment)).toMatchObject([
      { scorer_version: 1, score: 0.25 },
      { scorer_version: 2, score: 0.75 },
    ]);
    const [{ scores, trace_id }] = await on.resultsOfExperiment(experiment);
    expect(scores).toEqual({ judgement: 0.75 });
    // The list of traces shows the same score, and filters by it.
    const traces = async (query: string) =>
      (await on.evaluator.get(`/telemetry/v1/traces?${query}`)).body.items;
    await on.trace({ traceId: trace_id });
    expect(await traces('score=judgement:eq:0.25')).toEqual([]);
    const [{ scores: shown }] = await traces('score=judgement:eq:0.75');
    expect(shown).toMatchObject([{ scorer_name: 'judgement', scorer_version: 2, score: 0.75 }]);
    expect(shown).toHaveLength(1);
  });

  it('shows the scores of a new scorer instead of those of an archived one of its name, whatever their versions', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, [{ case_id: 'a' }]);
    const archived = await on.scorer({ name: 'judgement', ...script('function score() { return 0.1; }') });
    const changed = script('function score() { return 0.25; }');
    await on.evaluator.patch(`/eval/v1/scorers/${archived.scorer_id}`, changed);
    const { body: earlier } = await on.score(archived, { experiment_id: experiment.experiment_id });
    await on.finished(earlier.score_run_id);
    await on.evaluator.post(`/eval/v1/scorers/${archived.scorer_id}/archive`);
    const scorer = await on.scorer({ name: 'judgement', ...script('function score() { return 0.75; }') });
    const { body: run } = await on.score(scorer, { experiment_id: experiment.experiment_id });
    await on.finished(run.score_run_id);
    expect(await hostedScores(experiment)).toMatchObject([
      { scorer_version: 1, score: 0.75 },
      { scorer_version: 2, score: 0.25 },
    ]);
    expect((await on.resultsOfExperiment(experiment))[0].scores).toEqual({ judgement: 0.75 });
    // A gate does not pass with the scores of the other one.
    const rules = [{ scorer: 'judgement', min_mean: 0.2 }];
    const gate = await on.evaluator.post(`/eval/v1/experiments/${experiment.experiment_id}/gate`, { rules });
    expect(gate.body).toMatchObject({ passed: false });
    expect(gate.body.checks[0].reason).toContain('Different scorers had this name');
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

  it('scores a finished experiment: its results show the scores, and its summary stays as it is', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, [{ case_id: 'a', scores: { own: 1 } }, { case_id: 'b' }]);
    const finalized = (await on.finalize(experiment)).body;
    const before = await on.resultsOfExperiment(experiment);
    const scorer = await on.scorer({ name: 'judgement', ...script('function score() { return 0.5; }') });
    const { body: run } = await on.score(scorer, { experiment_id: experiment.experiment_id });
    expect(await on.finished(run.score_run_id)).toMatchObject({
      run_status: 'succeeded',
      not_written_back_count: 2,
    });
    const after = await on.resultsOfExperiment(experiment);
    expect(after.map(({ scores }) => scores)).toEqual([{ judgement: 0.5, own: 1 }, { judgement: 0.5 }]);
    const content = (results: any[]) => results.map(({ scores: _, score_details: _d, ...rest }) => rest);
    expect(content(after)).toEqual(content(before));
    const read = await on.evaluator.get(`/eval/v1/experiments/${experiment.experiment_id}`);
    expect(read.body).toEqual({
      ...finalized,
      current_scores: { judgement: { mean: 0.5, count: 2 }, own: { mean: 1, count: 1 } },
      late_count: 2,
    });
    expect((await hostedScores(experiment)).map(({ is_late }) => is_late)).toEqual([true, true]);
  });

  it('counts a finished experiment’s scores by the same version as late once they are given again', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, indexes(2));
    const scorer = await on.scorer({ name: 'judgement', ...JUDGE });
    const body = { experiment_id: experiment.experiment_id, cache: false };
    const scored = async (): Promise<void> => {
      const { body: run } = await on.score(scorer, body);
      await gate.holds(2);
      gate.release();
      await on.finished(run.score_run_id);
    };
    const lateCount = async () =>
      (await on.evaluator.get(`/eval/v1/experiments/${experiment.experiment_id}`)).body.late_count;
    await scored();
    await on.finalize(experiment);
    expect(await lateCount()).toBe(0);
    await scored();
    expect(await lateCount()).toBe(2);
    expect(await hostedScores(experiment)).toHaveLength(2);
  });

  it('counts the scores of an experiment that is finalized meanwhile as late', async () => {
    const { experiment, run } = await on.runOver(indexes(2), JUDGE);
    await gate.holds(2);
    const finalized = (await on.finalize(experiment)).body;
    expect(finalized.summary.scores).toEqual({});
    gate.release();
    expect(await on.finished(run.score_run_id)).toMatchObject({
      run_status: 'succeeded',
      completed_count: 2,
      not_written_back_count: 2,
    });
    expect((await hostedScores(experiment)).map(({ is_late }) => is_late)).toEqual([true, true]);
  });

  it('waits for a finalization in progress, so that its scores are late', async () => {
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
    expect(await hostedScores(experiment)).toMatchObject([{ is_late: true }]);
    expect(await on.resultsOf(run.score_run_id)).toHaveLength(1);
  });

  it('loses no score when runs of several scorers score the same results at once', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, indexes(40));
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
    expect(await hostedScores(experiment)).toHaveLength(120);
  });

  it('shows one score of each result when runs of several versions score the same results at once', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, indexes(40));
    const scorer = await on.scorer({ name: 'judgement' });
    const runs: any[] = [];
    for (const score of [0.25, 0.5, 0.75]) {
      await on.evaluator.patch(
        `/eval/v1/scorers/${scorer.scorer_id}`,
        script(`function score() { return ${score}; }`),
      );
      runs.push((await on.score(scorer, { experiment_id: experiment.experiment_id })).body);
    }
    for (const run of runs) await on.finished(run.score_run_id);
    const results = await on.resultsOfExperiment(experiment);
    expect(results.map(({ scores }) => scores.judgement)).toEqual(Array<number>(40).fill(0.75));
  });
});

/** Waits until a database session waits for a lock. */
async function blockedOn(app: TestApp): Promise<void> {
  for (;;) {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    if ((await app.database.query(sql)).length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
