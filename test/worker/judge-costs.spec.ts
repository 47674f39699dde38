import { ALL_FEATURES, JudgeRepository } from '../../src/evaluation/judges/judge.repository';
import { ScoreRunExecutor } from '../../src/evaluation/scoring/score-runs/score-run.executor';
import { COST, GOOD, type JudgedService, JudgeFixture, mostCost, says, withJudge } from './judge.fixture';

describe('a judge', () => {
  let judge: JudgedService['judge'];
  let app: JudgedService['app'];
  let worker: JudgedService['worker'];
  let fixture: JudgedService['fixture'];
  withJudge((service) => ({ judge, app, worker, fixture } = service));

  describe('with cached answers', () => {
    it('is not asked again, so that a rerun costs nothing', async () => {
      const scorer = await fixture.scorer({ samples: 3 });
      const experiment = await fixture.experiment({ input: 1 }, { input: 2 });
      const first = await fixture.completeRun(scorer, experiment);
      expect(judge.requests).toHaveLength(6);
      expect(first.run.cost_usd).toBeCloseTo(6 * COST, 12);
      const again = await fixture.completeRun(scorer, experiment);
      expect(judge.requests).toHaveLength(6);
      expect(again.run).toMatchObject({ run_status: 'succeeded', cost_usd: 0 });
      const content = ({ score, choice, reasoning, samples, request_sha256, trace_id }: any) => ({
        score,
        choice,
        reasoning,
        samples,
        request_sha256,
        trace_id,
      });
      const byTrace = (items: any[]) => items.map(content).sort((a, b) => (a.trace_id < b.trace_id ? -1 : 1));
      expect(byTrace(again.results)).toEqual(byTrace(first.results));
      expect(again.results.map((one) => one.is_cached)).toEqual([true, true]);
    });

    it('is asked once for equal targets of a run', async () => {
      const scorer = await fixture.scorer();
      const experiment = await fixture.experiment(...Array(5).fill({ input: 'same', output: 'same' }));
      const { run, results } = await fixture.completeRun(scorer, experiment, { concurrency: 1 });
      expect(judge.requests).toHaveLength(1);
      expect(run.cost_usd).toBeCloseTo(COST, 12);
      expect(results.filter((one) => one.is_cached)).toHaveLength(4);
    });

    it.each([
      ['for all requests', 'logprobs is not supported'],
      ['for the requests of this scorer', 'logprobs must be less than what you want'],
    ])('is not asked again if it lacks a feature %s', async (_, message) => {
      judge.reply = ({ json }) =>
        json.logprobs ? { status: 400, body: JSON.stringify({ error: { message } }) } : says(GOOD);
      const scorer = await fixture.scorer({ model: 'without logprobs' });
      const experiment = await fixture.experiment({ input: 1 }, { input: 2 });
      await fixture.completeRun(scorer, experiment);
      const before = judge.requests.length;
      expect((await fixture.completeRun(scorer, experiment)).run.cost_usd).toBe(0);
      // Nor when the learned features have expired, which happens every day.
      await worker.get(JudgeRepository).learnFeatures(scorer.definition.model, ALL_FEATURES);
      const { run, results } = await fixture.completeRun(scorer, experiment);
      expect(run.cost_usd).toBe(0);
      expect(results.map((one) => one.is_cached)).toEqual([true, true]);
      expect(judge.requests).toHaveLength(before);
    });

    it('is asked again with "cache": false, by another scorer version, and in mode test', async () => {
      const scorer = await fixture.scorer();
      const experiment = await fixture.experiment();
      await fixture.completeRun(scorer, experiment);
      await fixture.completeRun(scorer, experiment, { cache: false });
      expect(judge.requests).toHaveLength(2);
      await fixture.scoreInMode('test', scorer, experiment);
      expect(judge.requests).toHaveLength(3);
      await fixture.scoring.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { grain: 'session' });
      await fixture.completeRun(scorer, experiment, { grain: 'trace' });
      expect(judge.requests).toHaveLength(4);
      await fixture.completeRun(scorer, experiment, { grain: 'trace' });
      expect(judge.requests).toHaveLength(4);
    });

    it('is not asked again after the texts of the scorer have changed', async () => {
      const scorer = await fixture.scorer();
      const experiment = await fixture.experiment();
      await fixture.completeRun(scorer, experiment);
      const texts = { name: 'renamed', description: 'other', tags: ['a'], metadata: { a: 1 } };
      await fixture.scoring.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, texts);
      expect((await fixture.completeRun(scorer, experiment)).results).toMatchObject([{ is_cached: true }]);
      expect(judge.requests).toHaveLength(1);
    });

    it('is asked again after failures', async () => {
      judge.reply = () => ({ status: 404 });
      const scorer = await fixture.scorer();
      const experiment = await fixture.experiment();
      expect((await fixture.completeRun(scorer, experiment)).run.run_status).toBe('failed');
      judge.reply = () => says(GOOD);
      expect((await fixture.completeRun(scorer, experiment)).run.run_status).toBe('succeeded');
    });

    it('is asked separately for each workspace', async () => {
      const ask = async (): Promise<string> => {
        const [other, item] = [await JudgeFixture.create(app), { input: 'same', output: 'same' }];
        await other.completeRun(await other.scorer(), await other.experiment(item));
        return judge.requests.at(-1)!.body;
      };
      expect(await ask()).toBe(await ask());
      expect(judge.requests).toHaveLength(2);
    });

    it('shares no answers between workspaces', async () => {
      const scorer = await fixture.scorer();
      const experiment = await fixture.experiment();
      await fixture.completeRun(scorer, experiment);
      await app.database.query(`UPDATE judge_answers SET workspace_id = 'wsp_other'`);
      await fixture.completeRun(scorer, experiment);
      expect(judge.requests).toHaveLength(2);
    });
  });

  describe('under a budget', () => {
    const items = (count: number) => Array.from({ length: count }, (_, input) => ({ input }));

    it('is asked no more once the budget is spent', async () => {
      const scorer = await fixture.scorer();
      const experiment = await fixture.experiment(...items(10));
      const { run, results } = await fixture.completeRun(scorer, experiment, {
        max_cost_usd: 2.5 * COST,
        concurrency: 1,
      });
      expect(run).toMatchObject({
        run_status: 'failed',
        failure_code: 'budget_exceeded',
        max_cost_usd: 2.5 * COST,
        completed_count: 3,
        failed_count: 7,
        cost_usd: expect.closeTo(3 * COST, 12),
      });
      expect(judge.requests).toHaveLength(3);
      expect(results.filter(({ error }) => /max_cost_usd/.test(error ?? ''))).toHaveLength(7);
      for (const { error, score } of results) expect(error === undefined).toBe(score === 1);
    });

    it('has the cost of failed requests counted', async () => {
      judge.reply = () => ({ content: 'nonsense' });
      const experiment = await fixture.experiment(...items(5));
      const { run } = await fixture.completeRun(await fixture.scorer(), experiment, {
        max_cost_usd: 3 * COST,
        concurrency: 1,
      });
      expect(run).toMatchObject({ failure_code: 'budget_exceeded', cost_usd: expect.closeTo(3 * COST, 12) });
      expect(judge.requests).toHaveLength(3);
    });

    it('succeeds if the budget is just enough', async () => {
      const experiment = await fixture.experiment(...items(2));
      const { run } = await fixture.completeRun(await fixture.scorer(), experiment, {
        max_cost_usd: 2 * COST,
        concurrency: 1,
      });
      expect(run).toMatchObject({ run_status: 'succeeded', completed_count: 2 });
    });

    it('is charged the maximum cost for an answer that is too long to read', async () => {
      judge.reply = () => 'floods';
      const experiment = await fixture.experiment(...items(6));
      const { run } = await fixture.completeRun(await fixture.scorer(), experiment, {
        max_cost_usd: 9,
        concurrency: 1,
      });
      // 4,096 tokens at 100 dollars per million, plus the tokens of the request.
      expect(run.cost_usd).toBeGreaterThan(6 * 0.4096);
      const cut = await fixture.completeRun(await fixture.scorer(), experiment, {
        max_cost_usd: 0.5,
        concurrency: 1,
      });
      expect(cut.run).toMatchObject({ run_status: 'failed', failure_code: 'budget_exceeded' });
      expect(cut.run.cost_usd).toBeLessThan(1);
    });

    it.each([
      ['wrong JSON', '{"hello":"world"}', mostCost],
      ['HTML', '<html>hello</html>', mostCost],
      // read, but without an answer
      [
        'no message',
        '{"choices":[]}',
        ({ length }: string): number => (Math.ceil(length / 3) * 10 + Math.ceil(14 / 3) * 100) / 1e6,
      ],
      [
        'wrong JSON with its usage',
        '{"usage":{"prompt_tokens":100,"completion_tokens":10}}',
        (): number => COST,
      ],
    ])('is charged for an unusable answer (%s)', async (_, body, costOf) => {
      const random = jest.spyOn(Math, 'random').mockReturnValue(0.05);
      judge.reply = ({ repeat }) => (repeat === 0 ? { status: 200, body } : says(GOOD));
      const { run } = await fixture.completeRun(await fixture.scorer(), await fixture.experiment());
      const [first, ...others] = judge.requests;
      expect(run.cost_usd).toBeCloseTo(costOf(first!.body) + others.length * COST, 5);
      random.mockRestore();
    });

    it('gets no waiting requests once others have spent the budget', async () => {
      let [inFlight, answered] = [0, 0];
      judge.reply = async () => {
        if (inFlight > 0) return { status: 429 };
        inFlight += 1;
        await new Promise((resolve) => setTimeout(resolve, 50));
        inFlight -= 1;
        answered += 1;
        return says(GOOD);
      };
      const experiment = await fixture.experiment(...items(16));
      const { run } = await fixture.completeRun(await fixture.scorer(), experiment, {
        max_cost_usd: 2 * COST,
        concurrency: 16,
      });
      expect(run.failure_code).toBe('budget_exceeded');
      // Another request may be in flight when one is answered. Fourteen requests were waiting.
      expect(answered).toBeLessThan(6);
    });

    it('is asked for no more samples of a target once the budget is spent', async () => {
      const experiment = await fixture.experiment({ input: 1 });
      const scorer = await fixture.scorer({ samples: 20 });
      const { run, results } = await fixture.completeRun(scorer, experiment, { max_cost_usd: 3 * COST });
      expect(judge.requests).toHaveLength(3);
      expect(run).toMatchObject({ failure_code: 'budget_exceeded', cost_usd: expect.closeTo(3 * COST, 12) });
      expect(results[0]).toMatchObject({
        error: expect.stringContaining('max_cost_usd'),
        cost_usd: expect.closeTo(3 * COST, 12),
      });
    });

    it('has the cost of an earlier worker counted', async () => {
      const scorer = await fixture.scorer();
      const experiment = await fixture.experiment({ input: 1 });
      const { run } = await fixture.completeRun(scorer, experiment);
      // As if the worker had ended after the judge's answer, and before it stored the result.
      const key = [run.score_run_id];
      await app.database.query('DELETE FROM target_outcomes WHERE score_run_id = $1', key);
      await app.database.query(
        `UPDATE score_runs SET run_status = 'running', lease_token = NULL, finished_at = NULL WHERE score_run_id = $1`,
        key,
      );
      await worker.get(ScoreRunExecutor).execute(run.score_run_id);
      expect(judge.requests).toHaveLength(1);
      expect(await fixture.scoring.run(run.score_run_id)).toMatchObject({
        run_status: 'succeeded',
        cost_usd: COST,
      });
    });

    it('is rejected if it has no price (422), or if the budget is invalid (400)', async () => {
      const { experiment_id } = await fixture.experiment();
      const scorer = await fixture.scorer({ model: 'of unknown price' });
      const answer = await fixture.scoring.score(scorer, { experiment_id, max_cost_usd: 1 });
      expect(answer).toMatchObject({
        status: 422,
        body: { code: 'validation_failed', errors: [{ pointer: '/max_cost_usd' }] },
      });
      for (const wrong of [0, -1, '1']) {
        expect((await fixture.scoring.score(scorer, { experiment_id, max_cost_usd: wrong })).status).toBe(
          400,
        );
      }
    });
  });
});
