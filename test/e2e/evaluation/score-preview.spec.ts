import { setTimeout as delay } from 'node:timers/promises';
import { sharedApp, type TestApp } from '#testing';
import { EXACT, ScoringFixture, script } from './scoring.fixture';

describe('scoring in preview and test', () => {
  const app = sharedApp();
  let on: ScoringFixture;

  beforeEach(async () => {
    on = await ScoringFixture.create(app);
  });

  const runsOf = async (): Promise<any[]> => (await on.evaluator.get('/eval/v1/score-runs')).body.items;

  it('has the longer timeout only in test mode', async () => {
    const experiment = await on.experiment();
    await on.result(experiment, { output: 1, expected: 1 });
    const scorer = await on.scorer();
    const hasty = await app.another({ REQUEST_TIMEOUT_MS: '3000' });
    try {
      const caller = hasty.api(await on.organization.token('evaluator')).in(on.workspaceId);
      const body = { experiment_id: experiment.experiment_id };
      // No single statement waits as long as a request may take, but both together do.
      const { tested, others } = await lockedWhile(app, 'results', async () => {
        const answers = await lockedWhile(app, 'experiments', async () => {
          const sent = ['test', 'preview', 'score'].map((mode) =>
            on.score(scorer, { ...body, mode }, caller),
          );
          await delay(1_500);
          return { tested: sent[0]!, others: Promise.all(sent.slice(1)) };
        });
        await answers.others;
        return answers;
      });
      expect((await others).map(({ status }) => status)).toEqual([504, 504]);
      expect((await tested).status).toBe(200);
    } finally {
      await hasty.close();
    }
  });

  it('previews the exact requests, and runs and stores nothing', async () => {
    const definition = { ...EXACT, timeout_ms: 700 };
    const scorer = await on.scorer({ definition });
    const { experiment_id } = await on.experiment();
    const content = { input: 'i', output: 'o', expected: 'e' };
    const { trace_id, result_id, case_id } = await on.result({ experiment_id }, content);
    const answer = await on.score(scorer, { mode: 'preview', experiment_id });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      grain: 'trace',
      mode: 'preview',
      scorer_id: scorer.scorer_id,
      scorer_version: 1,
      results: [
        {
          trace_id,
          result_id,
          case_id,
          elapsed_ms: 0,
          preview_request: {
            ...definition,
            subject: { ...content, metadata: {}, trace: null, session: null },
          },
        },
      ],
    });
    expect(await runsOf()).toEqual([]);
  });

  it('previews the known parts of a request to a judge that is not configured', async () => {
    const trace_ids = [await on.trace({ input: 'i', output: 'o' })];
    const previewed = async (definition: object): Promise<any> => {
      const scorer = await on.scorer({ scorer_kind: 'llm_judge', definition });
      const answer = await on.score(scorer, { mode: 'preview', max_cost_usd: 1, trace_ids });
      expect(answer.status).toBe(200);
      const [{ preview_request, request_sha256, error }] = answer.body.results;
      expect([error, typeof request_sha256]).toEqual([undefined, 'string']);
      return preview_request;
    };
    const definition = { prompt: 'Is {{output}} good?', output: { type: 'boolean' } };
    const named = await previewed({ ...definition, model: 'judge-1' });
    expect(named).toMatchObject({
      model: 'judge-1',
      messages: [{ role: 'system' }, { role: 'user', content: expect.stringMatching(/^Is <data-.*\no\n/) }],
      response_format: { type: 'json_schema' },
      temperature: 0,
    });
    const { model: _, ...rest } = named;
    expect(Object.keys(await previewed(definition))).toEqual(Object.keys(rest));
    expect(await previewed({ ...definition, model: 'gateway:fast' })).toMatchObject({
      model: 'gateway:fast',
    });
    const choices = ['yes', 'no'].map((value, score) => ({ value, score }));
    expect(await previewed({ backend: 'classifier', output: { type: 'choice', choices } })).toEqual({
      inputs: 'o',
      labels: ['yes', 'no'],
    });
    expect(await runsOf()).toEqual([]);
  });

  it('tests the targets in order, and stores nothing', async () => {
    const scorer = await on.scorer();
    const experiment = await on.experiment();
    const made = await on.results(experiment, [
      { output: 'a', expected: 'a' },
      { output: 'a', expected: 'b' },
    ]);
    const answer = await on.score(scorer, { mode: 'test', experiment_id: experiment.experiment_id });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ mode: 'test', grain: 'trace', scorer_version: 1 });
    const scores = new Map(answer.body.results.map((one: any) => [one.trace_id, one.score]));
    expect(made.map((result) => scores.get(result.trace_id))).toEqual([1, 0]);
    for (const one of answer.body.results) expect(one.elapsed_ms).toBeGreaterThanOrEqual(0);
    expect(await runsOf()).toEqual([]);
    const results = await on.evaluator.get(`/eval/v1/experiments/${experiment.experiment_id}/results`);
    for (const result of results.body.items) expect(result.scores).toEqual({});
  });

  it('reports a failure as an error, never as 0, and an abstention as neither', async () => {
    const trace_ids = [await on.trace()];
    const one = async (source: string) =>
      (await on.score(await on.scorer(script(source)), { mode: 'test', trace_ids })).body.results[0];
    const failed = await one('function score() { throw new Error("no luck"); }');
    expect(failed.error).toContain('no luck');
    expect(failed).not.toHaveProperty('score');
    const looping = await one('function score() { for (;;); }');
    expect(looping.error).toMatch(/timeout_ms/);
    const abstained = await one('function score() { return null; }');
    expect(abstained).not.toHaveProperty('score');
    expect(abstained).not.toHaveProperty('error');
  });

  it('returns the scorer’s other outputs', async () => {
    const source = `function score() {
      return { score: 0.5, label: 'fair', reasoning: 'because', answers: { a: 1 } };
    }`;
    const answer = await on.score(await on.scorer(script(source)), {
      mode: 'test',
      trace_ids: [await on.trace()],
    });
    expect(answer.body.results[0]).toMatchObject({
      score: 0.5,
      choice: 'fair',
      reasoning: 'because',
      answers: { a: 1 },
    });
  });
});

/** Locks a table during some work. */
function lockedWhile<Result>(
  { database }: TestApp,
  table: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (tx) => {
    await tx.query(`LOCK TABLE ${table}`);
    return work();
  });
}
