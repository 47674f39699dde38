import { sharedApp, newTraceId } from '#testing';
import { outcome, places, UNKNOWN_IDS } from './evaluation.harness';
import { BOOLEAN, HumanScoresFixture, SCORES, STARS, SURVEY, TONE } from './human-scores.fixture';

describe('a human score', () => {
  const app = sharedApp();
  let on: HumanScoresFixture;

  beforeEach(async () => {
    on = await HumanScoresFixture.open(app);
  });

  const newResult = (fields?: Record<string, unknown>) => on.newResult(fields);
  const outcomeOf = async (fields: Record<string, unknown>, output: object = BOOLEAN) => {
    const scorer = await on.scorer(output);
    const { result_id } = await newResult();
    const answer = await on.post({ scorer_id: scorer.scorer_id, result_id, ...fields });
    return [...outcome(answer), ...places(answer)];
  };

  it('returns 403 without the role annotator', async () => {
    const scorer = await on.scorer();
    const { result_id } = await newResult();
    const body = { workspace_id: on.space.id, scorer_id: scorer.scorer_id, result_id, score: true };
    for (const caller of [on.space.viewer, on.space.editor]) {
      expect(outcome(await caller.post(SCORES, body))).toEqual([403, 'access_denied']);
    }
    const runtime = await on.space.organization.as('runtime');
    for (const source of ['human', 'client']) {
      expect(outcome(await runtime.post(SCORES, { ...body, source }))).toEqual([403, 'access_denied']);
    }
    expect(outcome(await runtime.get(SCORES))).toEqual([403, 'access_denied']);
  });

  it('is accepted from an annotator, who can only read and score', async () => {
    const scorer = await on.scorer();
    const { result_id } = await newResult();
    const annotator = await on.space.organization.as('annotator');
    const workspace_id = on.space.id;
    const body = { workspace_id, scorer_id: scorer.scorer_id, result_id, score: true };
    expect((await annotator.post(SCORES, body)).status).toBe(201);
    const path = `/eval/v1/scorers/${scorer.scorer_id}`;
    for (const read of [SCORES, path, '/eval/v1/experiments', '/registry/v1/workspaces']) {
      expect((await annotator.get(read)).status).toBe(200);
    }
    const refused = await Promise.all([
      annotator.post('/eval/v1/datasets', { workspace_id, name: 'theirs' }),
      annotator.patch(path, { description: 'theirs' }),
      annotator.post(`${path}/score`, { trace_ids: [newTraceId()] }),
      annotator.post(`${path}/archive`),
      annotator.post('/agent/v1/agents', { workspace_id, name: 'theirs', model: 'gpt-5' }),
    ]);
    expect(refused.map(outcome)).toEqual(refused.map(() => [403, 'access_denied']));
  });

  it.each<[string, Record<string, unknown>, string[]]>([
    ['no target', { result_id: null, score: true }, ['']],
    ['two targets', { trace_id: newTraceId(), score: true }, ['/result_id']],
    [
      'an experiment for a target',
      { result_id: null, experiment_id: 'exp_x', score: true },
      ['', '/experiment_id'],
    ],
    ['an invalid trace id', { result_id: null, trace_id: 'x', score: true }, ['/trace_id']],
    [
      'a session of 256 characters',
      { result_id: null, session_id: 's'.repeat(256), score: true },
      ['/session_id'],
    ],
    ['another workspace', { workspace_id: 'wsp_x', score: true }, ['/workspace_id']],
    ['no scorer', { scorer_id: undefined, score: true }, ['']],
    ['version 0', { scorer_version: 0, score: true }, ['/scorer_version']],
    ['a comment that is not text', { score: true, comment: 1 }, ['/comment']],
    ['metadata over 16 KiB', { score: true, metadata: { a: 'x'.repeat(17_000) } }, ['/metadata']],
  ])('returns 400 for %s', async (_, fields, pointers) => {
    expect(await outcomeOf(fields)).toEqual([400, 'invalid_request', ...pointers]);
  });

  it.each<[string, object, Record<string, unknown>, string[]]>([
    ['no value instead of a boolean', BOOLEAN, {}, ['/score']],
    ['null instead of a boolean', BOOLEAN, { score: null }, ['/score']],
    ['a number instead of a boolean', BOOLEAN, { score: 0.5 }, ['/score']],
    ['a choice in addition to a boolean', BOOLEAN, { score: true, label: 'kind' }, ['/label']],
    ['text instead of a number', STARS, { score: '3' }, ['/score']],
    ['a number below the minimum', STARS, { score: 0.99 }, ['/score']],
    ['a number above the maximum', STARS, { score: 5.01 }, ['/score']],
    ['a boolean instead of a number', STARS, { score: true }, ['/score']],
    ['no value instead of a choice', TONE, {}, ['/label']],
    ['the score of a choice without the choice', TONE, { score: 1 }, ['/label']],
    ['text as the score of a choice', TONE, { score: 'kind' }, ['/score']],
    ['a number instead of a choice', TONE, { label: 1 }, ['/label']],
    ['no value instead of answers', SURVEY, {}, ['/answers']],
    ['a list instead of answers', SURVEY, { answers: ['kind'] }, ['/answers']],
    ['missing answers', SURVEY, { answers: { right: true } }, ['/answers/tone', '/answers/stars']],
    [
      'an answer to an unknown question',
      SURVEY,
      { answers: { tone: 'kind', right: true, stars: 1, 'a/b~': 1 } },
      ['/answers/a~1b~0'],
    ],
    [
      'answers out of bounds',
      SURVEY,
      { answers: { tone: 'kind', right: 1, stars: 9 } },
      ['/answers/right', '/answers/stars'],
    ],
  ])('returns 400 for %s', async (_, output, answered, pointers) => {
    expect(await outcomeOf(answered, output)).toEqual([400, 'invalid_request', ...pointers]);
  });

  it.each<[string, object, Record<string, unknown>, string]>([
    ['choice', TONE, { label: 'Kind' }, '/label'],
    ['choice of a question', SURVEY, { answers: { tone: '', right: true, stars: 1 } }, '/answers/tone'],
  ])('returns 422 for an unknown %s', async (_, output, answered, pointer) => {
    expect(await outcomeOf(answered, output)).toEqual([422, 'validation_failed', pointer]);
  });

  it('cannot be created by a run, because the service cannot run a human scorer (400)', async () => {
    const human = await on.scorer();
    const trace_id = await on.exportTrace();
    for (const mode of ['score', 'test', 'preview']) {
      const path = `/eval/v1/scorers/${human.scorer_id}/score`;
      expect(outcome(await on.space.evaluator.post(path, { trace_ids: [trace_id], mode }))).toEqual([
        400,
        'invalid_request',
      ]);
    }
  });

  it('returns 409 for an archived scorer, after 400 and 404 and before 422', async () => {
    const scorer = await on.scorer(TONE);
    const { result_id } = await newResult();
    await on.space.archive(`/eval/v1/scorers/${scorer.scorer_id}`);
    const outcomeFor = async (fields: object) =>
      outcome(await on.post({ scorer_id: scorer.scorer_id, result_id, label: 'kind', ...fields }));
    expect(await outcomeFor({})).toEqual([409, 'conflict']);
    expect(await outcomeFor({ label: 'unknown' })).toEqual([409, 'conflict']);
    expect(await outcomeFor({ label: null })).toEqual([400, 'invalid_request']);
    expect(await outcomeFor({ result_id: 'res_x' })).toEqual([404, 'not_found']);
  });

  it('returns 409 for a result that was replaced since it was read', async () => {
    const scorer = await on.scorer();
    const { experiment_id } = await on.space.experiment();
    const { result_id, version } = await on.space.result(experiment_id, { case_id: 'c', output: 'first' });
    const body = { scorer_id: scorer.scorer_id, result_id, score: true };
    expect((await on.post({ ...body, result_version: version })).status).toBe(201);
    const replacement = { case_id: 'c', output: 'second', on_conflict: 'replace' };
    await on.space.post(`/eval/v1/experiments/${experiment_id}/results`, replacement);
    expect(outcome(await on.post({ ...body, result_version: version }))).toEqual([409, 'conflict']);
    expect(await on.listIds('')).toEqual([]);
    expect((await on.post({ ...body, result_version: version + 1 })).status).toBe(201);
    const ofTrace = { scorer_id: scorer.scorer_id, trace_id: newTraceId(), score: true, result_version: 1 };
    expect(places(await on.post(ofTrace))).toEqual(['/result_version']);
  });

  it('returns 404 for unknown targets and targets of other organizations, and names them', async () => {
    const stranger = await HumanScoresFixture.open(app);
    const foreign = await stranger.scorer();
    const foreignResult = await stranger.space.result((await stranger.space.experiment()).experiment_id, {
      session_id: 'theirs',
    });
    const scorer = await on.scorer();
    const result = await newResult();
    const other = await on.space.experiment();
    const { result_id } = result;
    const cases: [string, Record<string, unknown>][] = [
      ...UNKNOWN_IDS.filter((id) => id.length <= 255).map((id): [string, Record<string, unknown>] => [
        '/scorer_id',
        { scorer_id: id, result_id },
      ]),
      ['/scorer_id', { scorer_id: foreign.scorer_id, result_id }],
      ['/scorer_version', { scorer_version: 2, result_id }],
      ['/session_id', { session_id: 'nobody' }],
      ['/session_id', { session_id: 'theirs' }],
      ['/result_id', { result_id: foreignResult.result_id }],
      ['/result_id', { result_id: foreignResult.result_id, experiment_id: result.experiment_id }],
      ['/result_id', { result_id, experiment_id: other.experiment_id }],
      ['/experiment_id', { result_id, experiment_id: 'exp_x' }],
      ['/experiment_id', { result_id, experiment_id: foreignResult.experiment_id }],
    ];
    for (const [pointer, fields] of cases) {
      const answer = await on.post({ scorer_id: scorer.scorer_id, score: true, ...fields });
      expect([fields, ...outcome(answer), ...places(answer)]).toEqual([fields, 404, 'not_found', pointer]);
    }
    expect(await on.listIds('include_superseded=true')).toEqual([]);
  });
});
