import { setTimeout as pause } from 'node:timers/promises';
import { type ApiClient, createTestWorker, ownApp, TestJudge, type TestWorker } from '#testing';
import { newModel, newProvider } from '../e2e/model-gateway/provider.fixture';
import { GOOD, JudgeFixture, says } from './judge.fixture';

const CASES = ['a', 'b', 'c'];

describe('a gateway model behind a judge that changes', () => {
  let judges: [TestJudge, TestJudge];
  const app = ownApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8', JUDGE_TIMEOUT_MS: '1000' } });
  let worker: TestWorker;
  let fixture: JudgeFixture;
  let admin: ApiClient;
  let providers: [string, string];
  let modelId: string;
  let scorer: any;

  beforeAll(async () => {
    judges = [await TestJudge.listen(), await TestJudge.listen()];
    worker = await createTestWorker(app);
  });
  afterAll(async () => {
    await worker.close();
    for (const judge of judges) await judge.close();
  });
  beforeEach(async () => {
    for (const judge of judges) judge.reply = () => says(GOOD, { model: 'gpt-2024' });
    fixture = await JudgeFixture.create(app);
    admin = await fixture.scoring.organization.member('admin');
    const { workspaceId } = fixture.scoring.organization;
    providers = [
      await newProvider(admin, workspaceId, judges[0].env.JUDGE_BASE_URL!),
      await newProvider(admin, workspaceId, judges[1].env.JUDGE_BASE_URL!),
    ];
    const targets = [{ provider_id: providers[0], upstream_model: 'gpt-test' }];
    modelId = await newModel(admin, workspaceId, { name: 'judge', targets });
    scorer = await fixture.scorer({ model: 'gateway:judge' });
  });

  const experiment = () =>
    fixture.experiment(...CASES.map((case_id) => ({ case_id, input: case_id, output: 'the same' })));
  const patched = async (path: string, body: object): Promise<any> => {
    const by = path.startsWith('/eval/') ? fixture.scoring.evaluator : admin;
    const answer = await by.patch(path, body);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const retarget = (...targets: object[]) =>
    patched(`/model/v1/models/${modelId}`, { strategy: targets.length > 1 ? 'fallback' : 'single', targets });
  /** Judges identical outputs before and after a change. Returns the comparison, by query. */
  const judgedAround = async (change: () => unknown) => {
    const { evaluator } = fixture.scoring;
    const [baseline, candidate] = [await experiment(), await experiment()];
    const { results: before } = await fixture.completeRun(scorer, baseline);
    await evaluator.patch(`/eval/v1/experiments/${baseline.experiment_id}`, {
      experiment_status: 'completed',
    });
    await change();
    // The worker may use the model that it has read for another second.
    await pause(1_100);
    const { results: after } = await fixture.completeRun(scorer, candidate);
    const path = `/eval/v1/experiments/${candidate.experiment_id}`;
    const compared = async (query = ''): Promise<any> => {
      const answer = await evaluator.get(
        `${path}/compare?baseline_experiment_id=${baseline.experiment_id}${query}`,
      );
      return answer.body.scorers[0];
    };
    const gated = async (body: object = {}): Promise<any> => {
      const answer = await evaluator.post(`${path}/gate`, {
        ...{
          baseline_experiment_id: baseline.experiment_id,
          rules: [{ scorer: scorer.name, max_regression: 0 }],
          ...body,
        },
      });
      return answer.body.checks[0];
    };
    return { baseline, candidate, before, after, compared, gated };
  };

  it.each<[string, () => unknown, string]>([
    ['the base URL of its provider', () => patched(`/model/v1/providers/${providers[0]}`, { base_url: judges[1].env.JUDGE_BASE_URL, api_key: 'sk-x' }), 'gpt-2024'],
    ['its upstream model', () => {
      judges[0].reply = () => says(GOOD, { model: 'gpt-other' });
      return retarget({ provider_id: providers[0], upstream_model: 'gpt-other' });
    }, 'gpt-other'],
    ['its provider', () => retarget({ provider_id: providers[1], upstream_model: 'gpt-test' }), 'gpt-2024'],
    ['the target that answers, because the first is down', async () => {
      judges[0].reply = () => ({ status: 500 });
      await retarget({ provider_id: providers[0], upstream_model: 'gpt-test' }, { provider_id: providers[1], upstream_model: 'gpt-test' });
    }, 'gpt-2024'],
  ])('in %s gives no verdict on identical outputs', async (_, change, model) => {
    const { candidate, before, after, compared, gated } = await judgedAround(change);
    expect(after.map((one: any) => [one.score, one.is_cached, one.model])).toEqual(CASES.map(() => [1, false, model]));
    const digests = new Set([...before, ...after].map((one: any) => one.judge_digest));
    expect(digests.size).toBe(2);
    expect(await compared()).toMatchObject({ verdict: 'not_comparable', judge_changed_count: 3, p_value: null, difference: null });
    const { reason } = await compared();
    for (const name of ['gpt-2024', model, 'different judges']) expect(reason).toContain(name);
    expect(await gated()).toMatchObject({ status: 'failed', judge_changed_count: 3, reason: expect.stringContaining('different judges') });
    expect(await compared('&allow_version_mismatch=true')).toMatchObject({ judge_changed_count: 0, difference: 0, cases: 3 });
    expect(await gated({ allow_version_mismatch: true })).toMatchObject({ status: 'passed', actual: 0 });
    const { run } = await fixture.completeRun(scorer, candidate, { unscored_only: true });
    expect(run.total).toBe(0);
  }); // oxfmt-ignore

  it('in the name that it answers makes the judge another one, once it is asked again', async () => {
    const { before, after, baseline, compared } = await judgedAround(async () => {
      judges[0].reply = () => says(GOOD, { model: 'gpt-2025' });
      await fixture.completeRun(scorer, await fixture.experiment({ input: 'new', output: 'x' }));
    });
    expect(before[0].model).toBe('gpt-2024');
    expect(after.map((one: any) => [one.model, one.is_cached])).toEqual(CASES.map(() => ['gpt-2025', false]));
    expect((await compared()).reason).toMatch(/gpt-2025.*gpt-2024/);
    const again = await fixture.completeRun(scorer, baseline, { unscored_only: true });
    expect(again.run.total).toBe(3);
    expect(await compared()).toMatchObject({ judge_changed_count: 0, cases: 3, difference: 0, reason: null });
  });

  it('in nothing but the description of the scorer raises its ETag, and nothing else', async () => {
    const path = `/eval/v1/scorers/${scorer.scorer_id}`;
    const read = async () => {
      const { headers, body } = await fixture.scoring.evaluator.get(path);
      return { etag: headers.get('etag'), version: body.scorer_version };
    };
    const first = await read();
    const { before, after, compared, gated } = await judgedAround(() =>
      patched(path, { description: 'Judges answers.', tags: ['new'], metadata: { a: 1 } }),
    );
    const second = await read();
    expect(second.etag).not.toBe(first.etag);
    expect([first.version, second.version]).toEqual([1, 1]);
    expect(new Set([...before, ...after].map((one: any) => one.judge_digest)).size).toBe(1);
    expect(after.map((one: any) => one.is_cached)).toEqual(CASES.map(() => true));
    expect(await compared()).toMatchObject({ judge_changed_count: 0, cases: 3, difference: 0, reason: null });
    expect(await gated()).toMatchObject({ status: 'passed' });
  });
});
