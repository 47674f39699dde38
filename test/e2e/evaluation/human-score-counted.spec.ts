import { sharedApp, newTraceId } from '#testing';
import { BOOLEAN, HumanScoresFixture, type Scorer, STARS } from './human-scores.fixture';
import { scoresOf } from './result-scores.fixture';

/** Tests which human scores count for a result, whether or not its `scores` show them. */
describe('the human scores of a result', () => {
  const app = sharedApp();
  let on: HumanScoresFixture;

  beforeEach(async () => {
    on = await HumanScoresFixture.open(app);
  });

  const human = (scorer: Scorer, score: number, fields: Record<string, unknown> = {}) => ({
    ...{ scorer: scorer.name, scorer_version: 1, source: 'human', scorer_id: scorer.scorer_id, score },
    ...{ is_shown: true, is_late: false, shown_score: score },
    ...fields,
  });
  const patch = (scorer: Scorer, definition: object) =>
    on.space.editor.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { definition });

  it('are combined in one row, which each further score updates', async () => {
    const scorer = await on.scorer(STARS);
    const result = await on.newResult({ trace_id: newTraceId(), scores: { own: 1 } });
    await on.score(scorer, { result_id: result.result_id, score: 1 });
    await on.score(scorer, { trace_id: result.trace_id, score: 4 }, await on.annotator());
    const own = { ...human(scorer, 1), scorer: 'own', scorer_version: 0, source: 'client', scorer_id: null };
    expect(await scoresOf(app, result.result_id)).toEqual([own, human(scorer, 2.5)]);
  });

  it('are combined under the newest version of the scorer, while rows of older versions remain stored', async () => {
    const scorer = await on.scorer(STARS);
    const result = await on.newResult();
    await on.score(scorer, { result_id: result.result_id, score: 1 });
    await patch(scorer, { rubric: 'Better?', output: STARS });
    await on.score(scorer, { result_id: result.result_id, score: 5 }, await on.annotator());
    expect(await scoresOf(app, result.result_id)).toEqual([
      human(scorer, 1, { is_shown: false, shown_score: null }),
      human(scorer, 3, { scorer_version: 2 }),
    ]);
    expect((await on.result(result)).scores).toEqual({ [scorer.name]: 3 });
  });

  it('count in addition to a score of the client, which is still shown', async () => {
    const scorer = await on.scorer(BOOLEAN);
    const trace_id = newTraceId();
    const result = await on.newResult({ trace_id, scores: { [scorer.name]: 0.25 } });
    await on.score(scorer, { trace_id, score: true });
    const later = await on.newResult({ trace_id, scores: { [scorer.name]: 0.5 } });
    const bare = await on.newResult({ trace_id });
    const client = (score: number) => ({
      ...human(scorer, score),
      ...{ source: 'client', scorer_version: 0, scorer_id: null },
    });
    const hidden = human(scorer, 1, { is_shown: false, shown_score: null });
    expect(await scoresOf(app, result.result_id)).toEqual([client(0.25), hidden]);
    expect(await scoresOf(app, later.result_id)).toEqual([client(0.5), hidden]);
    expect(await scoresOf(app, bare.result_id)).toEqual([human(scorer, 1)]);
    expect((await on.result(result)).scores).toEqual({ [scorer.name]: 0.25 });
  });

  it('are hidden by a score that the client adds later', async () => {
    const scorer = await on.scorer(BOOLEAN);
    const result = await on.newResult();
    await on.score(scorer, { result_id: result.result_id, score: true });
    const path = `/eval/v1/experiments/${result.experiment_id}/results/${result.result_id}`;
    await on.space.editor.patch(path, { scores: { [scorer.name]: 0 } });
    await on.score(scorer, { result_id: result.result_id, score: false }, await on.annotator());
    expect(await scoresOf(app, result.result_id)).toMatchObject([
      { source: 'client', score: 0, is_shown: true },
      { source: 'human', score: 0.5, is_shown: false },
    ]);
    expect((await on.result(result)).scores).toEqual({ [scorer.name]: 0 });
  });

  it.each(['completed', 'failed'])(
    'are stored but change no result after the experiment is %s',
    async (experiment_status) => {
      const [early, late] = [await on.scorer(STARS), await on.scorer(STARS)];
      const [trace_id, session_id] = [newTraceId(), 'a session'];
      const result = await on.newResult({ trace_id, session_id });
      await on.score(early, { trace_id, score: 2 });
      await on.space.finalize(result.experiment_id, { experiment_status });
      const finalized = await on.result(result);
      const bob = await on.annotator();
      await on.score(late, { result_id: result.result_id, score: 3 });
      expect(await scoresOf(app, result.result_id)).toEqual([
        human(early, 2),
        human(late, 3, { is_shown: false, is_late: true, shown_score: null }),
      ]);
      await on.score(early, { session_id, score: 4 }, bob);
      await on.score(late, { trace_id, score: 5 }, bob);
      expect(await scoresOf(app, result.result_id)).toEqual([
        human(early, 3, { is_late: true, shown_score: 2 }),
        human(late, 4, { is_shown: false, is_late: true, shown_score: null }),
      ]);
      await on.score(early, { trace_id, score: 1 });
      expect((await scoresOf(app, result.result_id))[0]).toEqual(
        human(early, 2.5, { is_late: true, shown_score: 2 }),
      );
      expect(await on.result(result)).toEqual(finalized);
    },
  );

  it('count as soon as enough people have scored, even if the experiment is finalized', async () => {
    const scorer = await on.scorer(STARS, {}, { min_annotations: 2 });
    const result = await on.newResult();
    await on.space.finalize(result.experiment_id);
    await on.score(scorer, { result_id: result.result_id, score: 1 });
    expect(await scoresOf(app, result.result_id)).toEqual([]);
    const others = [await on.annotator(), await on.annotator(), await on.annotator()];
    // They score at the same time. The last score to be stored must include all others.
    await Promise.all(others.map((one) => on.score(scorer, { result_id: result.result_id, score: 5 }, one)));
    expect(await scoresOf(app, result.result_id)).toMatchObject([{ score: 4, is_late: true }]);
  });
});
