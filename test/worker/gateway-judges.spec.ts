import { setTimeout as pause } from 'node:timers/promises';
import {
  type ApiClient,
  ownApp,
  createTestWorker,
  type JudgeReply,
  TestJudge,
  type TestWorker,
} from '#testing';
import { modelOf, newModel, newProvider } from '../e2e/model-gateway/provider.fixture';
import { COST, GOOD, JudgeFixture, mostCost, says } from './judge.fixture';

const PRICE = { input_usd_per_million: 10, output_usd_per_million: 100 };

describe('a judge that is a gateway model', () => {
  let judge: TestJudge;
  const app = ownApp({
    env: {
      OUTBOUND_ALLOW: '127.0.0.0/8',
      MODEL_PRICES: JSON.stringify({ 'gpt-test': PRICE }),
      JUDGE_TIMEOUT_MS: '1000',
    },
  });
  let worker: TestWorker;
  let fixture: JudgeFixture;
  let admin: ApiClient;

  beforeAll(async () => {
    judge = await TestJudge.listen();
    worker = await createTestWorker(app);
  });
  afterAll(async () => {
    await worker.close();
    await judge.close();
  });
  afterEach(() => jest.restoreAllMocks());
  beforeEach(async () => {
    judge.reset();
    judge.reply = () => says(GOOD);
    fixture = await JudgeFixture.create(app);
    admin = await fixture.scoring.organization.member('admin');
  });

  const base = (): string => judge.env.JUDGE_BASE_URL!;
  const workspace = (): string => fixture.scoring.organization.workspaceId;
  const newJudge = async (): Promise<string> => modelOf(admin, workspace(), base());
  const usage = async (): Promise<any> =>
    (await admin.get(`/model/v1/usage?workspace_id=${workspace()}&group_by=model,principal`)).body;

  it('scores without a judge of the operator, and reports its cost in the usage and in the run', async () => {
    const name = await newJudge();
    const scorer = await fixture.scorer({ model: `gateway:${name}` });
    const { run, results } = await fixture.completeRun(
      scorer,
      await fixture.experiment({ input: 1 }, { input: 2 }),
    );
    expect(run).toMatchObject({ run_status: 'succeeded', total: 2 });
    expect(run.cost_usd).toBeCloseTo(2 * COST, 12);
    expect(results.map(({ score }) => score)).toEqual([1, 1]);
    expect(judge.requests[0]!.json.model).toBe('gpt-test');
    const { items } = await usage();
    expect(items).toEqual([
      expect.objectContaining({
        model: name,
        principal_id: 'judges',
        call_count: 2,
        cost_usd: expect.closeTo(2 * COST, 12),
      }),
    ]);
  });

  it.each<[string, JudgeReply, (request: string) => number]>([
    ['is wrong JSON', { status: 200, body: '{"hello":"world"}' }, mostCost],
    ['is not JSON', { status: 200, body: '<html>hello</html>' }, mostCost],
    [
      'is wrong JSON with its usage',
      { status: 200, body: '{"usage":{"prompt_tokens":100,"completion_tokens":10}}' },
      () => COST,
    ],
    ['breaks off', 'closes', mostCost],
    ['does not arrive in time', 'hangs', mostCost],
    ['is too long to read', 'floods', mostCost],
    ['rejects the request (400)', { status: 400 }, () => 0],
    ['rejects the request (413)', { status: 413 }, () => 0],
    ['is 500', { status: 500 }, () => 0],
  ])('costs the same in the usage and in the run if its answer %s', async (_, failure, costOf) => {
    jest.spyOn(Math, 'random').mockReturnValue(0.05);
    judge.reply = ({ repeat }) => (repeat === 0 ? failure : says(GOOD));
    const scorer = await fixture.scorer({ model: `gateway:${await newJudge()}` });
    const { run } = await fixture.completeRun(scorer, await fixture.experiment());
    const expected = costOf(judge.requests[0]!.body) + (judge.requests.length - 1) * COST;
    const { total } = await usage();
    expect([run.cost_usd, total.cost_usd]).toEqual([
      // the gateway's name of the model has other bytes than the provider's
      expect.closeTo(expected, 2),
      expect.closeTo(expected, 2),
    ]);
    expect(total).toMatchObject({ call_count: judge.requests.length, failed_count: 1 });
  });

  it('has the message of its provider in the error', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.05);
    judge.reply = () => ({ status: 500, body: '{"error":{"message":"boom"}}' });
    const { error } = await fixture.testResult({ model: `gateway:${await newJudge()}` });
    expect(error).toMatch(/ returned status 500: boom\. Gave up after 6 attempts\.$/);
  });

  it('costs what all of its targets have cost', async () => {
    let server = '';
    judge.reply = ({ json }) => {
      server = json.model;
      return json.model === 'gpt-test' ? says(GOOD) : { status: 200, body: '{"hello":"world"}' };
    };
    const provider_id = await newProvider(admin, workspace(), base());
    const targets = [
      { provider_id, upstream_model: 'first', price: { ...PRICE, input_usd_per_million: 1_000 } },
      { provider_id, upstream_model: 'gpt-test' },
    ];
    await newModel(admin, workspace(), { name: 'two', strategy: 'fallback', targets });
    const scorer = await fixture.scorer({ model: 'gateway:two' });
    const { run } = await fixture.completeRun(scorer, await fixture.experiment());
    expect(server).toBe('gpt-test');
    const { total } = await usage();
    expect(run.cost_usd).toBeCloseTo(total.cost_usd as number, 12);
    expect(run.cost_usd).toBeGreaterThan(COST + mostCost(judge.requests[0]!.body));
  });

  it('gives a new answer for each sample, even if the model caches answers, and leaves no traces', async () => {
    const name = await modelOf(admin, workspace(), base(), { cache_ttl_seconds: 600, capture_content: true });
    const scorer = await fixture.scorer({ model: `gateway:${name}`, samples: 3 });
    await fixture.completeRun(scorer, await fixture.experiment());
    expect(judge.requests).toHaveLength(3);
    expect((await usage()).total).toMatchObject({ call_count: 3, cached_count: 0 });
    // A rule would score such traces.
    const { body } = await admin.in(workspace()).get('/telemetry/v1/traces');
    expect(body.items).toEqual([]);
  });

  it('can be different for each scorer', async () => {
    const names = [await newJudge(), await newJudge()];
    for (const name of names) {
      const [item] = await fixture.scoreInMode(
        'test',
        await fixture.scorer({ model: `gateway:${name}` }),
        await fixture.experiment(),
      );
      expect(item.score).toBe(1);
    }
    expect((await usage()).items.map(({ model }: { model: string }) => model).sort()).toEqual(
      [...names].sort(),
    );
  });

  it('falls back to another provider', async () => {
    const ids = [
      await newProvider(admin, workspace(), 'http://127.0.0.1:9/v1'),
      await newProvider(admin, workspace(), base()),
    ];
    const targets = ids.map((provider_id) => ({ provider_id, upstream_model: 'gpt-test' }));
    await newModel(admin, workspace(), { name: 'fast', strategy: 'fallback', targets });
    const [item] = await fixture.scoreInMode(
      'test',
      await fixture.scorer({ model: 'gateway:fast' }),
      await fixture.experiment(),
    );
    expect(item.score).toBe(1);
  });

  it('is asked again after the target of the model changes, and not before', async () => {
    const name = await newJudge();
    const scorer = await fixture.scorer({ model: `gateway:${name}` });
    const experiment = await fixture.experiment();
    await fixture.completeRun(scorer, experiment);
    await fixture.completeRun(scorer, experiment);
    expect(judge.requests).toHaveLength(1);
    const { body } = await admin.get(`/model/v1/models/${name}`);
    const [{ provider_id }] = body.targets;
    await admin.patch(`/model/v1/models/${body.model_id}`, {
      targets: [{ provider_id, upstream_model: 'gpt-next' }],
    });
    // The worker may use the model that it has read for another second.
    await pause(1_100);
    await fixture.completeRun(scorer, experiment);
    expect(judge.requests).toHaveLength(2);
    expect(judge.requests[1]!.json.model).toBe('gpt-next');
  });

  it('has another digest after its model is pointed to another server or upstream model', async () => {
    const second = await TestJudge.listen();
    try {
      judge.reply = second.reply = () => says(GOOD, { model: 'the same' });
      const name = await newJudge();
      const scorer = await fixture.scorer({ model: `gateway:${name}` });
      const experiment = await fixture.experiment();
      const tested = async () => (await fixture.scoreInMode('test', scorer, experiment))[0];
      const first = await tested();
      expect(first).toMatchObject({
        model: 'the same',
        judge_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
      const { body: model } = await admin.get(`/model/v1/models/${name}`);
      const change = { metadata: { changed: true }, retries: 1 };
      expect((await admin.patch(`/model/v1/models/${model.model_id}`, change)).status).toBe(200);
      expect((await tested()).judge_digest).toBe(first.judge_digest);
      const elsewhere = await newProvider(admin, workspace(), second.env.JUDGE_BASE_URL!);
      const targets = [{ provider_id: elsewhere, upstream_model: 'gpt-test' }];
      await admin.patch(`/model/v1/models/${model.model_id}`, { targets });
      const moved = await tested();
      expect(second.requests).toHaveLength(1);
      expect(moved.judge_digest).not.toBe(first.judge_digest);
      second.reply = () => says(GOOD, { model: 'another' });
      const other = await tested();
      expect(other.model).toBe('another');
      expect(new Set([first, moved, other].map(({ judge_digest }) => judge_digest)).size).toBe(3);
    } finally {
      await second.close();
    }
  });

  it('has the digest of the provider that answered, after a fallback', async () => {
    const id = await newProvider(admin, workspace(), base());
    const down = await newProvider(admin, workspace(), 'http://127.0.0.1:9/v1');
    const target = (provider_id: string) => ({ provider_id, upstream_model: 'gpt-test' });
    const model = { name: 'fast', strategy: 'fallback', targets: [target(id), target(down)] };
    await newModel(admin, workspace(), model);
    const { body: created } = await admin.get('/model/v1/models/fast');
    const scorer = await fixture.scorer({ model: 'gateway:fast' });
    const experiment = await fixture.experiment();
    const digest = async () => (await fixture.scoreInMode('test', scorer, experiment))[0].judge_digest;
    const direct = await digest();
    await admin.patch(`/model/v1/models/${created.model_id}`, { targets: [target(down), target(id)] });
    expect(direct).toMatch(/^[0-9a-f]{64}$/);
    expect(await digest()).toBe(direct);
  });

  it('is asked again after its provider moves to another server', async () => {
    const name = await newJudge();
    const scorer = await fixture.scorer({ model: `gateway:${name}` });
    const experiment = await fixture.experiment();
    await fixture.completeRun(scorer, experiment);
    const { body } = await admin.get(`/model/v1/models/${name}`);
    const moved = { base_url: base().replace('/v1', '/moved/v1') };
    const path = `/model/v1/providers/${body.targets[0].provider_id}`;
    expect((await admin.patch(path, { ...moved, api_key: 'sk-other' })).status).toBe(200);
    // The worker may use the model that it has read for another second.
    await pause(1_100);
    await fixture.completeRun(scorer, experiment);
    expect(judge.requests.map(({ path: at }) => at)).toEqual([
      '/v1/chat/completions',
      '/moved/v1/chat/completions',
    ]);
  });

  it('stays within the budget of the workspace', async () => {
    const name = await newJudge();
    await admin.put(`/model/v1/budgets/${workspace()}`, { monthly_budget_usd: COST });
    const scorer = await fixture.scorer({ model: `gateway:${name}` });
    const inputs = [{ input: 1 }, { input: 2 }, { input: 3 }];
    const { run, results } = await fixture.completeRun(scorer, await fixture.experiment(...inputs), {
      concurrency: 1,
    });
    expect(judge.requests).toHaveLength(1);
    expect(run).toMatchObject({ completed_count: 1, failed_count: 2 });
    const errors = results.flatMap(({ error }) => error ?? []);
    expect(errors).toHaveLength(2);
    for (const error of errors) expect(error).toContain('monthly budget of the workspace');
  });

  it('returns 503 and stores nothing if the workspace lacks the model', async () => {
    const scorer = await fixture.scorer({ model: 'gateway:missing' });
    const { experiment_id } = await fixture.experiment();
    const answer = await fixture.scoring.score(scorer, { experiment_id });
    expect([answer.status, answer.body.code]).toEqual([503, 'service_unavailable']);
    expect(answer.body.detail).toContain('missing');
  });

  it('returns 503 for a model of another workspace', async () => {
    const elsewhere = await fixture.scoring.organization.newWorkspace();
    const name = await modelOf(admin, elsewhere, base());
    const scorer = await fixture.scorer({ model: `gateway:${name}` });
    const { experiment_id } = await fixture.experiment();
    expect((await fixture.scoring.score(scorer, { experiment_id })).status).toBe(503);
    expect(judge.requests).toEqual([]);
  });
});
