import { newTraceId, sharedApp } from '#testing';
import { ScoringFixture } from './scoring.fixture';

describe('an order of scores for an experiment', () => {
  const app = sharedApp();
  let on: ScoringFixture;
  let experiment: any;
  let code: any;

  beforeAll(async () => {
    on = await ScoringFixture.create(app);
    experiment = await on.experiment();
    await on.results(experiment, [{}, {}]);
    code = await on.scorer({ name: 'code' });
  });

  const order = (body: object, id = experiment.experiment_id, headers = {}) =>
    on.evaluator.post(`/eval/v1/experiments/${id}/score`, body, headers);
  const batchCount = async (): Promise<number> => {
    const { body } = await on.evaluator.get(
      `/eval/v1/score-batches?experiment_id=${experiment.experiment_id}`,
    );
    return body.page.total;
  };

  it('leaves no batch if one of its scorers cannot run', async () => {
    const output = { type: 'boolean' };
    const definition = { rubric: 'Is it good?', output };
    const human = await on.scorer({ name: 'human', scorer_kind: 'human', definition });
    const judge = await on.scorer({
      name: 'judge',
      scorer_kind: 'llm_judge',
      definition: { prompt: '{{input}}', output },
    });
    const archived = await on.scorer({ name: 'archived' });
    await on.evaluator.post(`/eval/v1/scorers/${archived.scorer_id}/archive`);
    const foreign = await (await ScoringFixture.create(app)).scorer({ name: 'foreign' });
    const refused: [string, number, string, string | undefined][] = [
      [human.scorer_id, 400, 'invalid_request', '/scorers/1'],
      [human.name, 400, 'invalid_request', '/scorers/1'],
      [judge.name, 503, 'service_unavailable', undefined],
      [archived.scorer_id, 409, 'conflict', undefined],
      [archived.name, 404, 'not_found', '/scorers/1'],
      [foreign.scorer_id, 404, 'not_found', '/scorers/1'],
      [foreign.name, 404, 'not_found', '/scorers/1'],
      ['scr_x', 404, 'not_found', '/scorers/1'],
    ];
    for (const [named, ...expected] of refused) {
      const { status, body } = await order({ scorers: [code.name, named] });
      expect([named, status, body.code, body.errors?.[0]?.pointer]).toEqual([named, ...expected]);
    }
    expect(await batchCount()).toBe(0);
  });

  it.each([
    ['no scorers', { scorers: [] }],
    ['21 scorers', { scorers: Array.from({ length: 21 }, (_, n) => `s${n}`) }],
    ['no list', {}],
    ['a number', { scorers: [1] }],
    ['a limit of 0', { scorers: ['s'], max_cost_usd: 0 }],
    ['an unknown member', { scorers: ['s'], trace_ids: [newTraceId()] }],
    ['another workspace', { workspace_id: 'wsp_x', scorers: ['s'] }],
  ])('is rejected with %s (400)', async (_, body) => {
    const answer = await order(body);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
  });

  it('is rejected for an unknown experiment (404)', async () => {
    expect((await order({ scorers: [code.name] }, 'exp_x')).status).toBe(404);
  });

  it('is placed once with an Idempotency-Key, and has succeeded for an experiment without results', async () => {
    const { experiment_id } = await on.experiment();
    const headers = { 'idempotency-key': newTraceId() };
    const body = { scorers: [code.scorer_id, code.name], max_cost_usd: 1 };
    const first = await order(body, experiment_id, headers);
    const second = await order(body, experiment_id, headers);
    expect([first.status, second.status, second.body]).toEqual([202, 202, first.body]);
    const listed = await on.evaluator.get(first.headers.get('location')!);
    expect(listed.body.items).toEqual(first.body.score_batches);
    expect(first.body.score_batches.map((one: any) => [one.batch_status, one.total])).toEqual([
      ['succeeded', 0],
    ]);
  });
});
