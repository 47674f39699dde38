import { sharedApp, newTraceId } from '#testing';
import { type BulkResponse, EvaluationWorkspace, type Result } from './evaluation.harness';
import {
  type Annotator,
  BOOLEAN,
  HumanScoresFixture,
  type Scorer,
  STARS,
  TONE,
} from './human-scores.fixture';

/** Human scores of a trace or session count for results that are uploaded later. */
describe('human scores of targets uploaded later', () => {
  const app = sharedApp();
  let on: HumanScoresFixture;
  let ann: Annotator;
  let bob: Annotator;
  let eve: Annotator;
  let trace_id: string;

  beforeEach(async () => {
    on = await HumanScoresFixture.open(app);
    ann = on.ann;
    [bob, eve] = [await on.annotator(), await on.annotator()];
    trace_id = newTraceId();
    await on.space.result((await on.space.experiment()).experiment_id, { trace_id, session_id: 'talk' });
  });

  const upload = async (fields: Record<string, unknown> = {}): Promise<Result> =>
    on.space.result((await on.space.experiment()).experiment_id, { trace_id, ...fields });
  const detailOf = (result: Result, scorer: Scorer) =>
    (result.score_details as Record<string, Record<string, unknown>>)[scorer.name];
  const patch = (scorer: Scorer, fields: object) =>
    on.space.editor.patch(`/eval/v1/scorers/${scorer.scorer_id}`, fields);

  it('are in the response to the upload, in the result and in the summary', async () => {
    const scorer = await on.scorer(TONE);
    const first = await on.score(scorer, { trace_id, label: 'kind', comment: 'warm' });
    const second = await on.score(scorer, { session_id: 'talk', label: 'kind' }, bob);
    const result = await upload({ session_id: 'talk', scores: { own: { score: 0, label: 'mine' } } });
    expect(result.scores).toEqual({ own: 0, [scorer.name]: 1 });
    expect(result.score_details).toEqual({
      own: { label: 'mine' },
      [scorer.name]: {
        metadata: { annotation_count: 2, score_ids: [second.score_id, first.score_id] },
        comment: 'warm',
        label: 'kind',
        scorer_id: scorer.scorer_id,
        scorer_version: 1,
      },
    });
    expect(await on.result(result)).toEqual(result);
    expect(result.updated_at).toBe(result.created_at);
    expect(await on.listIds(`trace_id=${trace_id}&source=human`)).toEqual([first.score_id]);
    expect(await on.listIds('session_id=talk&source=human')).toEqual([second.score_id, first.score_id]);
    const { summary } = await on.space.finalize(result.experiment_id);
    expect(summary).toMatchObject({
      scores: { own: { mean: 0, count: 1 }, [scorer.name]: { mean: 1, count: 1 } },
      scorers: { [scorer.name]: { scorer_id: scorer.scorer_id, scorer_version: 1 } },
    });
  });

  it('are in each uploaded result of their target, and in no other', async () => {
    const [byTrace, bySession] = [await on.scorer(), await on.scorer()];
    await on.score(byTrace, { trace_id, score: true });
    await on.score(bySession, { session_id: 'talk', score: false });
    const { experiment_id } = await on.space.experiment();
    await on.space.result(experiment_id, { case_id: 'there already', trace_id: newTraceId() });
    const answer = await on.space.post<BulkResponse>(`/eval/v1/experiments/${experiment_id}/results/bulk`, {
      items: [
        { case_id: 'both', trace_id, session_id: 'talk' },
        { case_id: 'trace', trace_id, session_id: 'walk' },
        { case_id: 'session', trace_id: newTraceId(), session_id: 'talk' },
        { case_id: 'like a trace', session_id: trace_id },
        { case_id: 'neither', trace_id: newTraceId() },
        { case_id: 'nothing' },
        { case_id: 'there already', trace_id },
        { case_id: 'bad', trace_id: 'x' },
      ],
    });
    const [t, s] = [byTrace.name, bySession.name];
    expect(answer.body.items.map((item) => item.result?.scores ?? item.status_code)).toEqual([
      { [t]: 1, [s]: 0 },
      { [t]: 1 },
      { [s]: 0 },
      {},
      {},
      {},
      409,
      400,
    ]);
    for (const { result } of answer.body.items)
      if (result) expect(await on.result(result)).toMatchObject(result);
  });

  it('count the latest score of each person, once min_annotations people have scored', async () => {
    const scorer = await on.scorer(STARS, {}, { min_annotations: 3 });
    await on.score(scorer, { trace_id, score: 5 });
    await on.score(scorer, { trace_id, score: 1 });
    await on.score(scorer, { session_id: 'talk', score: 2 });
    await on.score(scorer, { trace_id, score: 2 }, bob);
    expect((await upload({ session_id: 'talk' })).scores).toEqual({});
    await on.score(scorer, { session_id: 'talk', score: 5 }, eve);
    expect((await upload({ session_id: 'talk' })).scores).toEqual({ [scorer.name]: 3 });
    expect((await upload({ session_id: 'walk' })).scores).toEqual({});
  });

  it('do not overwrite an uploaded score of the same name', async () => {
    const scorer = await on.scorer();
    const { score_id } = await on.score(scorer, { trace_id, score: true });
    const own = { scorer_id: scorer.scorer_id, scorer_version: 1 };
    const written: [unknown, number | null][] = [
      [0.5, 0.5],
      [null, null],
      [{ score: 0.5, ...own, metadata: { annotation_count: 1, score_ids: [score_id] } }, 0.5],
    ];
    for (const [score, expected] of written) {
      const result = await upload({ scores: { [scorer.name]: score } });
      expect(result.scores).toEqual({ [scorer.name]: expected });
      expect(await on.result(result)).toEqual(result);
    }
  });

  it('are updated by later human scores', async () => {
    const scorer = await on.scorer(STARS);
    await on.score(scorer, { trace_id, score: 5 });
    const result = await upload();
    expect(result.scores).toEqual({ [scorer.name]: 5 });
    await on.score(scorer, { result_id: result.result_id, score: 1 });
    expect((await on.result(result)).scores).toEqual({ [scorer.name]: 1 });
    await on.score(scorer, { trace_id, score: 2 }, bob);
    expect((await on.result(result)).scores).toEqual({ [scorer.name]: 1.5 });
  });

  it('count even if their scorer is archived, and those of a newer scorer of its name replace them', async () => {
    const scorer = await on.scorer();
    await patch(scorer, { definition: { rubric: 'Clearer?', output: { type: 'boolean' } } });
    await on.score(scorer, { trace_id, score: true });
    await on.space.archive(`/eval/v1/scorers/${scorer.scorer_id}`);
    expect((await upload()).scores).toEqual({ [scorer.name]: 1 });
    const another = await on.scorer(BOOLEAN, { name: scorer.name });
    await on.score(another, { trace_id, score: false });
    const result = await upload();
    expect(result.scores).toEqual({ [scorer.name]: 0 });
    expect(detailOf(result, another)!.scorer_id).toBe(another.scorer_id);
  });

  it('stay within the workspace', async () => {
    const scorer = await on.scorer();
    const other = await on.space.organization.newWorkspace();
    const elsewhere = (await on.space.organization.as('evaluator')).in(other);
    await on.score(scorer, { trace_id, score: true });
    const made = await elsewhere.post<{ experiment_id: string }>('/eval/v1/experiments', {
      workspace_id: other,
      name: 'elsewhere',
    });
    const stranger = await EvaluationWorkspace.open(app);
    const path = `/eval/v1/experiments/${made.body.experiment_id}/results`;
    const results = [
      await elsewhere.post<Result>(path, { workspace_id: other, case_id: 'c', trace_id, session_id: 'talk' }),
      { body: await stranger.result((await stranger.experiment()).experiment_id, { trace_id }) },
    ];
    expect(results.map(({ body }) => body.scores)).toEqual([{}, {}]);
  });

  it('are in a result of a pinned CSV version', async () => {
    const scorer = await on.scorer();
    await on.score(scorer, { trace_id, score: true });
    const { dataset_id } = await on.space.dataset();
    await on.space.post(`/eval/v1/datasets/${dataset_id}/versions`, { content: 'id,question\na,what?\n' });
    const { experiment_id } = await on.space.experiment({ dataset_id, dataset_version: 1 });
    expect((await on.space.result(experiment_id, { case_id: 'a', trace_id })).scores).toEqual({
      [scorer.name]: 1,
    });
  });

  describe('in the uploaded result', () => {
    type Step = (scorer: Scorer) => Promise<unknown>;
    const say =
      (by: () => Annotator, value: unknown, fields: object = {}): Step =>
      (scorer) =>
        on.score(scorer, { trace_id, score: value, ...fields }, by());
    const change =
      (output: object, fields: object = {}): Step =>
      (scorer) =>
        patch(scorer, { definition: { rubric: 'Is it good?', output, ...fields } });
    const [byAnn, byBob, byEve] = [() => ann, () => bob, () => eve];

    it.each<[string, Step[]]>([
      ['one score', [say(byAnn, 4)]],
      ['versions with the same output', [say(byAnn, 4), change(STARS, { rubric: 'Really?' }), say(byBob, 1)]],
      ['versions with another output', [say(byAnn, 4), change(BOOLEAN), say(byBob, true), say(byEve, false)]],
      ['a last score for an older version', [say(byAnn, 4), change(BOOLEAN), say(byBob, true), say(byEve, 2, { scorer_version: 1 })]],
      ['only a score for an older version', [change(BOOLEAN), say(byBob, 2, { scorer_version: 1 })]],
      ['too few scores for the newer version', [say(byAnn, 4), change(BOOLEAN, { min_annotations: 2 }), say(byBob, true)]],
      ['a change of the output and back', [say(byAnn, 4), change(BOOLEAN), say(byBob, true), change(STARS), say(byEve, 1)]],
      ['two outputs by one person', [say(byAnn, 4), change(BOOLEAN), say(byAnn, true), say(byBob, 3, { scorer_version: 1 })]],
      ['two outputs by one person, and too few scores for the newer one', [say(byAnn, 4), change(BOOLEAN, { min_annotations: 2 }), say(byAnn, true), say(byBob, 3, { scorer_version: 1 })]],
      ['enough scores only for the version of the last score', [change(STARS, { min_annotations: 3 }), say(byBob, 2), say(byAnn, 4, { scorer_version: 1 })]],
      ['a scorer that was renamed', [(scorer) => patch(scorer, { name: `${scorer.name} once` }), say(byAnn, 4)]],
      ['decimal scores', [say(byAnn, 1.1), say(byBob, 1.2), say(byEve, 1.3)]],
    ])('are the same as for a result that existed before: %s', async (_, steps) => {
      const scorer = await on.scorer(STARS);
      const before = await upload();
      for (const step of steps) await step(scorer);
      const after = await upload();
      const { scores, score_details } = await on.result(before);
      expect(Object.keys(scores)).toHaveLength(1);
      expect([after.scores, after.score_details]).toEqual([scores, score_details]);
    });
  }); // oxfmt-ignore
});
