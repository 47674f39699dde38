import { Budget, JudgeService } from '../../src/evaluation/judges';
import { COST, GOOD, type JudgedService, says, withJudge } from './judge.fixture';

const SHA256 = /^[0-9a-f]{64}$/;

describe('the digest of a judge', () => {
  let judge: JudgedService['judge'];
  let worker: JudgedService['worker'];
  let fixture: JudgedService['fixture'];
  withJudge((service) => ({ judge, worker, fixture } = service));

  const tested = async (scorer: any): Promise<any> => {
    const [item] = await fixture.scoreInMode('test', scorer, await fixture.experiment());
    return { model: item.model, judge_digest: item.judge_digest };
  };
  const patched = async (scorer: any, members: object): Promise<any> =>
    (await fixture.scoring.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, members)).body;
  const answeredBy = (...models: string[]): void => {
    let count = 0;
    judge.reply = () => says(GOOD, { model: models[count++ % models.length]! });
  };

  it('changes with the model that the provider answers, which the result names', async () => {
    const scorer = await fixture.scorer({ model: 'gpt-4o-mini' });
    answeredBy('gpt-4o-mini-2024-07-18');
    const first = await tested(scorer);
    expect(first).toEqual({
      model: 'gpt-4o-mini-2024-07-18',
      judge_digest: expect.stringMatching(SHA256),
    });
    expect(await tested(scorer)).toEqual(first);
    answeredBy('gpt-4o-mini-2025-01-01');
    const other = await tested(scorer);
    expect(other.model).toBe('gpt-4o-mini-2025-01-01');
    expect(other.judge_digest).not.toBe(first.judge_digest);
  });

  it('is made of the requested model if the provider names none', async () => {
    const body = JSON.stringify({ choices: [{ message: { content: JSON.stringify(GOOD) } }] });
    judge.reply = () => ({ status: 200, body });
    const scorer = await fixture.scorer({ model: 'gpt-4o-mini' });
    const unnamed = await tested(scorer);
    answeredBy('gpt-4o-mini');
    expect(unnamed).toEqual(await tested(scorer));
  });

  it('changes with the definition, and not with the name, description, tags or metadata', async () => {
    const scorer = await fixture.scorer();
    const first = await tested(scorer);
    const texts = { name: 'renamed', description: 'new', tags: ['a'], metadata: { a: 1 } };
    expect(await tested(await patched(scorer, texts))).toEqual(first);
    const definition = { ...scorer.definition, reasoning: false };
    expect((await tested(await patched(scorer, { definition }))).judge_digest).not.toBe(first.judge_digest);
  });

  it('covers all models that answered the samples', async () => {
    const scorer = await fixture.scorer({ samples: 2 });
    answeredBy('b', 'a');
    const both = await tested(scorer);
    expect(both).toEqual({ model: 'a, b', judge_digest: expect.stringMatching(SHA256) });
    answeredBy('a', 'b');
    expect(await tested(scorer)).toEqual(both);
    answeredBy('a');
    expect((await tested(scorer)).judge_digest).not.toBe(both.judge_digest);
  });

  it('changes with the model of a classifier, and a script has none', async () => {
    const classifier = { backend: 'classifier', prompt: null };
    judge.reply = () => ({ content: [{ label: 'good', score: 1 }] });
    const [first, second] = [
      await tested(await fixture.scorer(classifier)),
      await tested(await fixture.scorer({ ...classifier, model: 'deberta' })),
    ];
    expect(first).toEqual({ judge_digest: expect.stringMatching(SHA256) });
    expect(second).toEqual({ model: 'deberta', judge_digest: expect.stringMatching(SHA256) });
    const [item] = await fixture.scoreInMode(
      'test',
      await fixture.scoring.scorer(),
      await fixture.experiment(),
    );
    expect(item).not.toHaveProperty('judge_digest');
  });

  it('is absent if no judge answered', async () => {
    judge.reply = () => ({ status: 404 });
    const item = await fixture.testResult({});
    expect(item.error).toMatch(/404/);
    expect(item).not.toHaveProperty('judge_digest');
  });

  it('of a cached answer is the one of the time at which it was given', async () => {
    answeredBy('gpt-2024');
    const scorer = await fixture.scorer();
    const expected = await tested(scorer);
    const subject = { input: 'in', output: 'out', expected: null, metadata: {}, session: null };
    const score = async () => {
      const scoring = await worker.get(JudgeService).prepare(scorer, subject);
      return scoring({
        owner: scorer.workspace_id,
        signal: new AbortController().signal,
        stopping: new AbortController().signal,
        lendSlot: (signal, waiting) => waiting(signal),
        cache: 'read',
        budget: new Budget(null),
      });
    };
    expect(await score()).toMatchObject({ ...expected, is_cached: false, cost_usd: COST });
    answeredBy('gpt-2025');
    await patched(scorer, { description: 'new' });
    expect(await score()).toMatchObject({ ...expected, is_cached: true, cost_usd: 0 });
  });

  it('that is not the newest makes unscored_only score a target again, once', async () => {
    const scorer = await fixture.scorer();
    const earlier = await fixture.experiment({ input: '1', output: 'a' }, { input: '2', output: 'b' });
    answeredBy('gpt-2024');
    await fixture.completeRun(scorer, earlier);
    answeredBy('gpt-2025');
    const unscored = () => fixture.completeRun(scorer, earlier, { unscored_only: true });
    expect((await unscored()).run.total).toBe(0);
    const { results } = await fixture.completeRun(scorer, await fixture.experiment());
    const { judge_digest } = results[0];
    const expected = { score: 1, model: 'gpt-2025', judge_digest, is_cached: false, cost_usd: COST };
    const again = await unscored();
    expect(again.results).toHaveLength(2);
    for (const result of again.results) expect(result).toMatchObject(expected);
    expect((await unscored()).run.total).toBe(0);
    // A judge that has been there before is no reason to skip targets that another one has scored since.
    answeredBy('gpt-2024');
    await fixture.completeRun(scorer, await fixture.experiment(), { cache: false });
    expect((await unscored()).run.total).toBe(2);
    answeredBy('gpt-2025');
    await fixture.completeRun(scorer, await fixture.experiment(), { cache: false });
    expect((await unscored()).run.total).toBe(2);
    // The new answers are cached.
    const { results: cached } = await fixture.completeRun(scorer, earlier);
    for (const result of cached) expect(result).toMatchObject({ ...expected, is_cached: true, cost_usd: 0 });
  });

  it('decides which cases a comparison and a gate pair', async () => {
    const { evaluator } = fixture.scoring;
    const cases = (...ids: string[]) => ids.map((case_id) => ({ case_id, input: case_id, output: 'x' }));
    const [baseline, candidate] = [
      await fixture.experiment(...cases('a', 'b', 'c')),
      await fixture.experiment(...cases('a', 'b', 'c')),
    ];
    const scorer = await fixture.scorer();
    const of = (experiment: any) => `/eval/v1/experiments/${experiment.experiment_id}`;
    const compared = async (query = '') =>
      (
        await evaluator.get(
          `${of(candidate)}/compare?baseline_experiment_id=${baseline.experiment_id}${query}`,
        )
      ).body;
    const gated = async (body: object = {}) => {
      const rules = [{ scorer: scorer.name, max_regression: 0 }];
      const answer = await evaluator.post(`${of(candidate)}/gate`, {
        ...{ baseline_experiment_id: baseline.experiment_id, rules, ...body },
      });
      return answer.body.checks[0];
    };
    answeredBy('gpt-2024');
    await fixture.completeRun(scorer, baseline, { cache: false });
    await evaluator.patch(of(baseline), { experiment_status: 'completed' });
    answeredBy('gpt-2024', 'gpt-2025', 'gpt-2025');
    await fixture.completeRun(scorer, candidate, { cache: false, concurrency: 1 });
    const none = { difference: null, p_value: null, cases: 0 };
    expect((await compared()).scorers[0]).toMatchObject({
      ...{ ...none, verdict: 'not_comparable', judge_changed_count: 2 },
      reason:
        '2 cases were scored by different judges: the candidate by gpt-2024 and gpt-2025, the baseline by gpt-2024. Score both with the same judge.',
    });
    expect(await gated()).toMatchObject({
      ...{ status: 'failed', judge_changed_count: 2, reason: expect.stringContaining('different judges') },
    });
    const some = { difference: 0, cases: 1, missing: 0, judge_changed_count: 2, reason: null };
    expect((await compared('&min_comparable=0.3')).scorers[0]).toMatchObject({
      ...some,
      verdict: 'inconclusive',
    });
    expect(await gated({ min_comparable: 0.3 })).toMatchObject({ status: 'passed', actual: 0 });
    const all = { cases: 3, judge_changed_count: 0 };
    expect((await compared('&allow_version_mismatch=true')).scorers[0]).toMatchObject(all);
    expect(await gated({ allow_version_mismatch: true })).toMatchObject({ status: 'passed' });
    const stored = await evaluator.get(`/eval/v1/scores?experiment_id=${candidate.experiment_id}`);
    expect(stored.body.items.map(({ model }: any) => model).sort()).toEqual([
      'gpt-2024',
      'gpt-2025',
      'gpt-2025',
    ]);
  });

  it('shows the version of the current scores if a comparison uses another one', async () => {
    const { evaluator } = fixture.scoring;
    const [baseline, candidate] = [await fixture.experiment(), await fixture.experiment()];
    const scorer = await fixture.scorer();
    answeredBy('gpt-2024');
    for (const experiment of [baseline, candidate]) await fixture.completeRun(scorer, experiment);
    await patched(scorer, { definition: { ...scorer.definition, reasoning: false } });
    await fixture.completeRun(scorer, candidate);
    await evaluator.patch(`/eval/v1/experiments/${baseline.experiment_id}`, {
      experiment_status: 'completed',
    });
    const path = `/eval/v1/experiments/${candidate.experiment_id}`;
    const { body } = await evaluator.get(`${path}/compare?baseline_experiment_id=${baseline.experiment_id}`);
    expect(body.scorers[0]).toMatchObject({
      candidate: { scorer_version: 1, current_scorer_version: 2 },
      baseline: { scorer_version: 1, current_scorer_version: 1 },
    });
  });
});
