import { sharedApp, newTraceId } from '#testing';
import type { Experiment, Result } from './evaluation.harness';
import {
  type Annotator,
  BOOLEAN,
  HumanScoresFixture,
  type Scorer,
  STARS,
  SURVEY,
  TONE,
} from './human-scores.fixture';

const EXPERIMENTS = '/eval/v1/experiments';

describe('the human scores of results', () => {
  const app = sharedApp();
  let on: HumanScoresFixture;
  let ann: Annotator;
  let bob: Annotator;
  let eve: Annotator;

  beforeEach(async () => {
    on = await HumanScoresFixture.open(app);
    ann = on.ann;
    [bob, eve] = [await on.annotator(), await on.annotator()];
  });

  const detailOf = (result: Result, scorer: Scorer) =>
    (result.score_details as Record<string, Record<string, unknown>>)[scorer.name];
  const newResult = (fields?: Record<string, unknown>) => on.newResult(fields);
  const read = async (experimentId: string): Promise<Experiment> =>
    (await on.space.viewer.get<Experiment>(`${EXPERIMENTS}/${experimentId}`)).body;
  const patch = (scorer: Scorer, definition: object) =>
    on.space.editor.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { definition });

  it('are shown as the mean over all annotators, with the ids of their scores', async () => {
    const scorer = await on.scorer(TONE);
    const result = await newResult({ scores: { own: { score: 1, label: 'mine' } } });
    const { result_id } = result;
    const first = await on.score(scorer, { result_id, label: 'kind', comment: 'warm' });
    const one = await on.result(result);
    expect(one.scores).toEqual({ own: 1, [scorer.name]: 1 });
    expect(detailOf(one, scorer)).toEqual({
      metadata: { annotation_count: 1, score_ids: [first.score_id] },
      comment: 'warm',
      label: 'kind',
      scorer_id: scorer.scorer_id,
      scorer_version: 1,
    });
    const second = await on.score(scorer, { result_id, label: 'rude', comment: 'cold' }, bob);
    const third = await on.score(scorer, { result_id, label: 'curt' }, eve);
    const three = await on.result(result);
    expect(three.scores).toEqual({ own: 1, [scorer.name]: (1 + 0.25 - 1) / 3 });
    expect(detailOf(three, scorer)).toEqual({
      metadata: { annotation_count: 3, score_ids: [third, second, first].map((score) => score.score_id) },
      comment: 'cold',
      scorer_id: scorer.scorer_id,
      scorer_version: 1,
    });
    expect(three.score_details).toMatchObject({ own: { label: 'mine' } });
    const { summary } = await on.space.finalize(result.experiment_id);
    expect(summary).toMatchObject({
      scores: { [scorer.name]: { mean: 0.25 / 3, count: 1 } },
      scorers: { [scorer.name]: { scorer_id: scorer.scorer_id, scorer_version: 1 } },
    });
  });

  it('count once min_annotations different people have scored', async () => {
    const scorer = await on.scorer(STARS, {}, { min_annotations: 3 });
    const result = await newResult();
    const { result_id } = result;
    const written = async () => (await on.result(result)).scores[scorer.name];
    await on.score(scorer, { result_id, score: 1 });
    await on.score(scorer, { result_id, score: 2 });
    await on.score(scorer, { result_id, score: 3 });
    await on.score(scorer, { result_id, score: 4 }, bob);
    expect(await written()).toBeUndefined();
    await on.score(scorer, { result_id, score: 5 }, eve);
    expect(await written()).toBe(4);
    await on.score(scorer, { result_id, score: 1 }, eve);
    expect(await written()).toBe(8 / 3);
  });

  it('count with the newest score of each person for the result, its trace and its session', async () => {
    const scorer = await on.scorer(STARS);
    const trace_id = newTraceId();
    const result = await newResult({ trace_id, session_id: 'talk' });
    const written = async () => (await on.result(result)).scores[scorer.name];
    await on.score(scorer, { session_id: 'talk', score: 1 });
    expect(await written()).toBe(1);
    await on.score(scorer, { trace_id, score: 2 }, bob);
    expect(await written()).toBe(1.5);
    await on.score(scorer, { result_id: result.result_id, score: 5 }, eve);
    expect(await written()).toBe(8 / 3);
    await on.score(scorer, { result_id: result.result_id, score: 4 });
    expect(await written()).toBe(11 / 3);
    await on.score(scorer, { session_id: 'talk', score: 3 });
    expect(await written()).toBe(10 / 3);
  });

  it('are those of all results of the trace or session, in all experiments', async () => {
    const [byTrace, bySession, byResult] = [await on.scorer(), await on.scorer(), await on.scorer()];
    const trace_id = newTraceId();
    const [one, two] = [await on.space.experiment(), await on.space.experiment()];
    const named = { trace_id, session_id: 'talk' };
    const results = [
      await on.space.result(one.experiment_id, named),
      await on.space.result(one.experiment_id, { trace_id }),
      await on.space.result(two.experiment_id, named),
      await on.space.result(two.experiment_id, { session_id: 'talk' }),
      await on.space.result(two.experiment_id, { trace_id: newTraceId(), session_id: 'walk' }),
      await on.space.result(two.experiment_id),
    ];
    await on.score(byTrace, { trace_id, score: true });
    await on.score(bySession, { session_id: 'talk', score: false });
    await on.score(byResult, { result_id: results[0]!.result_id, score: true });
    const [t, s, r] = [byTrace.name, bySession.name, byResult.name];
    expect(await Promise.all(results.map(async (result) => (await on.result(result)).scores))).toEqual([
      { [t]: 1, [s]: 0, [r]: 1 },
      { [t]: 1 },
      { [t]: 1, [s]: 0 },
      { [s]: 0 },
      {},
      {},
    ]);
  });

  it('show the label that most people chose, and none in a tie', async () => {
    const scorer = await on.scorer(TONE);
    const result = await newResult();
    const labelAfter = async (label: string, by: Annotator) => {
      await on.score(scorer, { result_id: result.result_id, label }, by);
      return detailOf(await on.result(result), scorer)!.label;
    };
    expect(await labelAfter('kind', ann)).toBe('kind');
    expect(await labelAfter('rude', bob)).toBeUndefined();
    expect(await labelAfter('rude', eve)).toBe('rude');
  });

  it('count for results of finalized and archived experiments, but not in a frozen summary', async () => {
    const scorer = await on.scorer(STARS);
    const trace_id = newTraceId();
    const [completed, archived] = [await newResult({ trace_id }), await newResult({ trace_id })];
    await on.score(scorer, { trace_id, score: 2 });
    const { summary } = await on.space.finalize(completed.experiment_id);
    expect(summary!.scores).toEqual({ [scorer.name]: { mean: 2, count: 1 } });
    await on.space.archive(`${EXPERIMENTS}/${archived.experiment_id}`);
    const before = await on.result(completed);
    const ofTrace = await on.score(scorer, { trace_id, score: 3 }, bob);
    const ofResult = await on.score(scorer, { result_id: completed.result_id, score: 4 }, eve);
    expect((await on.result(archived)).scores).toEqual({ [scorer.name]: 2.5 });
    const after = await on.result(completed);
    expect(after).toEqual({ ...before, scores: { [scorer.name]: 3 }, score_details: after.score_details });
    expect(await read(completed.experiment_id)).toMatchObject({
      summary,
      current_scores: { [scorer.name]: { mean: 3, count: 1 } },
      late_count: 1,
    });
    const listed = await on.listIds(`trace_id=${trace_id}`);
    expect(listed.slice(0, 2)).toEqual([ofResult.score_id, ofTrace.score_id]);
  });

  it('do not replace a client’s score of the same name', async () => {
    const scorer = await on.scorer();
    const own = { scorer_id: scorer.scorer_id, scorer_version: 1 };
    const experiment = await on.space.experiment();
    for (const score of [
      0.5,
      null,
      { score: 0.5, ...own },
      { score: null, ...own, metadata: { score_ids: 'x' } },
    ]) {
      const result = await on.space.result(experiment.experiment_id, { scores: { [scorer.name]: score } });
      await on.score(scorer, { result_id: result.result_id, score: true });
      expect(await on.result(result)).toEqual(result);
    }
    const scored = await newResult();
    await on.score(scorer, { result_id: scored.result_id, score: true });
    const path = `${EXPERIMENTS}/${scored.experiment_id}/results/${scored.result_id}`;
    await on.space.editor.patch(path, { scores: { [scorer.name]: 0 } });
    expect((await on.result(scored)).scores).toEqual({ [scorer.name]: 0 });
  });

  it('that a comparison uses instead of those that results show have another version there', async () => {
    const scorer = await on.scorer();
    const results = [];
    for (const score of [0, 0]) {
      const { experiment_id } = await on.space.experiment();
      const result = await on.space.result(experiment_id, { case_id: 'c', scores: { [scorer.name]: score } });
      await on.score(scorer, { result_id: result.result_id, score: true });
      results.push(await on.result(result));
      await on.space.finalize(experiment_id);
    }
    expect(results.map(({ scores }) => scores[scorer.name])).toEqual([0, 0]);
    const [baseline, candidate] = results.map((one) => one.experiment_id);
    const path = `${EXPERIMENTS}/${candidate}/compare?baseline_experiment_id=${baseline}`;
    const { body } = await on.space.viewer.get(path);
    const mean = { mean: 1, scorer_version: 1, current_scorer_version: null };
    expect(body.scorers).toMatchObject([{ candidate: mean, baseline: mean }]);
  });

  it('of several scorers that had one name are those of the newest', async () => {
    const scorer = await on.scorer();
    await patch(scorer, { rubric: 'Is it really good?', output: BOOLEAN });
    const result = await newResult();
    await on.score(scorer, { result_id: result.result_id, score: true });
    await on.space.archive(`/eval/v1/scorers/${scorer.scorer_id}`);
    expect((await on.result(result)).scores).toEqual({ [scorer.name]: 1 });
    const another = await on.scorer(BOOLEAN, { name: scorer.name });
    await on.score(another, { result_id: result.result_id, score: false });
    expect((await on.result(result)).scores).toEqual({ [scorer.name]: 0 });
  });

  it('include those of everybody who scored at the same time', async () => {
    const scorer = await on.scorer(STARS, {}, { min_annotations: 2 });
    const result = await newResult();
    await on.space.finalize(result.experiment_id);
    await on.score(scorer, { result_id: result.result_id, score: 1 });
    expect(await read(result.experiment_id)).toMatchObject({ current_scores: {}, late_count: 0 });
    const others = [await on.annotator(), await on.annotator(), await on.annotator()];
    await Promise.all(others.map((one) => on.score(scorer, { result_id: result.result_id, score: 5 }, one)));
    expect((await on.result(result)).scores).toEqual({ [scorer.name]: 4 });
    expect(await read(result.experiment_id)).toMatchObject({ late_count: 1 });
  });

  it('do not mix versions with different outputs', async () => {
    const scorer = await on.scorer(STARS);
    const result = await newResult();
    const { result_id } = result;
    const written = async () => {
      const now = await on.result(result);
      return [now.scores[scorer.name], detailOf(now, scorer)?.scorer_version];
    };
    await on.score(scorer, { result_id, score: 5 });
    await patch(scorer, { rubric: 'Is it really good?', output: STARS });
    await on.score(scorer, { result_id, score: 4 }, bob);
    expect(await written()).toEqual([4.5, 2]);
    await patch(scorer, { rubric: 'Is it really good?', output: BOOLEAN });
    await on.score(scorer, { result_id, score: true }, eve);
    expect(await written()).toEqual([1, 3]);
    await on.score(scorer, { result_id, scorer_version: 2, score: 1 }, bob);
    expect(await written()).toEqual([1, 3]);
    await on.score(scorer, { result_id, score: false });
    expect(await written()).toEqual([0.5, 3]);
  });

  it.each<[string, number[], number]>([
    ['decimal fractions', [0.1, 0.2, 0.3], 0.2],
    ['a fraction with all digits', [1 / 3], 1 / 3],
    ['numbers whose sum exceeds a double', [1.5e308, 1.5e308, 1.2e308], 1.4e308],
    ['numbers that cancel out', [1e308, 1, -1e308], 1 / 3],
    ['the smallest double', [5e-324], 5e-324],
    ['a mean below the smallest double', [5e-324, 0, 0], 0],
  ])('have an exact mean of %s', async (_, values, mean) => {
    const scorer = await on.scorer({ type: 'numeric', min: -1.7e308, max: 1.7e308 });
    const result = await newResult();
    for (const [index, value] of values.entries()) {
      await on.score(scorer, { result_id: result.result_id, score: value }, [ann, bob, eve][index]);
    }
    expect((await on.result(result)).scores[scorer.name]).toBe(mean);
  });

  it('have the mean over all questions', async () => {
    const scorer = await on.scorer(SURVEY);
    const result = await newResult();
    const answers = { tone: 'kind', right: false, stars: 5 };
    await on.score(scorer, { result_id: result.result_id, answers });
    expect((await on.result(result)).scores[scorer.name]).toBe(2);
  });
});
