import type { TestApp } from '#testing';
import { script } from '../e2e/evaluation/scoring.fixture';
import { type GatedService, JUDGE, withGate } from './gate.fixture';

const indexes = (count: number) => Array.from({ length: count }, (_, index) => ({ input: index }));

describe('a scoring run with an experiment', () => {
  let app: GatedService['app'];
  let gate: GatedService['gate'];
  let on: GatedService['on'];
  withGate((service) => ({ app, gate, on } = service));

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

  /** Returns the scores that comparisons use, by case. */
  const comparedScores = ({ experiment_id }: { experiment_id: string }): Promise<any[]> =>
    app.database.query(
      `SELECT case_id, scorer, scorer_version, source, s.scorer_id, score, shown_score, is_shown, is_late
       FROM result_scores s JOIN results USING (experiment_id, result_id) WHERE experiment_id = $1
       ORDER BY case_id, scorer_version, source`,
      [experiment_id],
    );

  it('stores scores and deliberate nulls for comparisons, but nothing for an error', async () => {
    const source = `function score({ input }) {
      if (input === 'fail') throw new Error('no');
      return input === 'abstain' ? null : 0.5;
    }`;
    const items = ['abstain', 'fail', 'score'].map((input) => ({ case_id: input, input }));
    const { experiment, scorer, run } = await on.runOver(items, { name: 'judgement', ...script(source) });
    await on.finished(run.score_run_id);
    const row = {
      ...{ scorer: 'judgement', scorer_version: 1, source: 'hosted', scorer_id: scorer.scorer_id },
      ...{ is_shown: true, is_late: false },
    };
    expect(await comparedScores(experiment)).toEqual([
      { case_id: 'abstain', ...row, score: null, shown_score: null },
      { case_id: 'score', ...row, score: 0.5, shown_score: 0.5 },
    ]);
  });

  it('stores and counts a score that is not written back because of a client’s score of that name', async () => {
    const items = [
      { case_id: 'a', scores: { judgement: 0.9 } },
      { case_id: 'b', input: 'abstain' },
    ];
    const source = 'function score({ input }) { return input === "abstain" ? null : 0.5; }';
    const { experiment, run } = await on.runOver(items, { name: 'judgement', ...script(source) });
    expect(await on.finished(run.score_run_id)).toMatchObject({
      completed_count: 2,
      not_written_back_count: 1,
    });
    const hosted = (await comparedScores(experiment)).filter(({ source }) => source === 'hosted');
    expect(hosted).toMatchObject([
      { case_id: 'a', score: 0.5, is_shown: false },
      { case_id: 'b', score: null, is_shown: true },
    ]);
  });

  it('reports while it runs how many scores were not written back', async () => {
    const items = [{ input: 1 }, { input: 2, scores: { judgement: 0.9 } }];
    const members = { name: 'judgement', ...JUDGE };
    const { run } = await on.runOver(items, members, { concurrency: 1 });
    await gate.holds(1);
    gate.release();
    await gate.holds(1);
    expect(await on.run(run.score_run_id)).toMatchObject({
      run_status: 'running',
      completed_count: 1,
      not_written_back_count: 1,
    });
    gate.release();
    expect(await on.finished(run.score_run_id)).toMatchObject({ not_written_back_count: 1 });
  });

  it('does not write back to a result that was replaced meanwhile, and counts the score', async () => {
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
    expect(await comparedScores(experiment)).toHaveLength(1);
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

  it('hides the scores of earlier versions, but keeps them for comparisons', async () => {
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
    expect(await comparedScores(experiment)).toMatchObject([
      { scorer_version: 1, score: 0.25, is_shown: false },
      { scorer_version: 2, score: 0.75, is_shown: true },
    ]);
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
    const scores = (await on.resultsOf(run.score_run_id)).map((one) => one.score);
    expect(scores.sort()).toEqual([0.5, 0.5, 0.5, undefined, undefined]);
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

  it('stores the scores of a finished experiment for comparisons, and does not change its results and summary', async () => {
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
    expect(await on.resultsOfExperiment(experiment)).toEqual(before);
    const read = await on.evaluator.get(`/eval/v1/experiments/${experiment.experiment_id}`);
    expect(read.body).toEqual(finalized);
    const late = { scorer: 'judgement', source: 'hosted', score: 0.5, is_shown: false, is_late: true };
    const hosted = (await comparedScores(experiment)).filter(({ source }) => source === 'hosted');
    expect(hosted).toMatchObject([{ case_id: 'a', ...late }, { case_id: 'b', ...late }]);
  }); // oxfmt-ignore

  it('does not change the results of a finished experiment when the same version scores them again', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, [
      { case_id: 'changes', input: 'changes' },
      { case_id: 'stays', input: 'stays' },
    ]);
    const scorer = await on.scorer({ name: 'judgement', ...JUDGE });
    const body = { experiment_id: experiment.experiment_id, cache: false };
    const scored = async (): Promise<void> => {
      const { body: run } = await on.score(scorer, body);
      await gate.holds(2);
      gate.release();
      await on.finished(run.score_run_id);
    };
    await scored();
    await on.finalize(experiment);
    await app.database.query(
      `UPDATE result_scores SET score = 0 WHERE result_id = (
         SELECT result_id FROM results WHERE experiment_id = $1 AND case_id = 'changes')`,
      [experiment.experiment_id],
    );
    await scored();
    expect(await comparedScores(experiment)).toMatchObject([
      { case_id: 'changes', score: 1, shown_score: 0, is_late: true },
      { case_id: 'stays', score: 1, shown_score: 1, is_late: false },
    ]);
  });

  it('writes nothing back to an experiment that is finalized meanwhile', async () => {
    const { experiment, run } = await on.runOver(indexes(2), JUDGE);
    await gate.holds(2);
    const finalized = (await on.finalize(experiment)).body;
    expect(finalized.summary.scores).toEqual({});
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
    expect(await comparedScores(experiment)).toHaveLength(120);
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
    const shownScores = (await comparedScores(experiment)).filter(({ is_shown }) => is_shown);
    expect(shownScores.map(({ score }) => score)).toEqual(Array<number>(40).fill(0.75));
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
