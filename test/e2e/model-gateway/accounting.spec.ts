import { randomBytes } from 'node:crypto';
import OpenAI from 'openai';
import { type ApiClient, sharedApp, newOrganization, type TestOrganization, until } from '#testing';
import { InternalCalls } from '../../../src/model-gateway/calls/internal-calls';
import {
  begin,
  chat,
  chatStream,
  contentChunk,
  FakeProvider,
  json,
  modelOf,
  newProvider,
  send,
} from './provider.fixture';

const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
let org: TestOrganization;
let admin: ApiClient;
let account: { serviceAccountId: string; key: string };
let client: OpenAI;
let provider: FakeProvider;

beforeEach(async () => {
  org = await newOrganization(app);
  admin = await org.member('admin');
  account = await org.serviceAccount('runtime');
  client = new OpenAI({ baseURL: `${app.url}/model/v1`, apiKey: account.key, maxRetries: 0 });
  provider = await FakeProvider.listen();
});
afterEach(() => provider.close());

const messages = [{ role: 'user' as const, content: 'Hi' }];
const model = (more: Record<string, unknown> = {}): Promise<string> =>
  modelOf(admin, org.workspaceId, provider, more);
/** The cost of 10 input tokens and 5 output tokens. See `USAGE`. */
const COST = (10 * 2 + 5 * 10) / 1e6;

const usage = async (): Promise<any> =>
  (await admin.get(`/model/v1/usage?workspace_id=${org.workspaceId}&group_by=model,principal`)).body;

describe('usage', () => {
  it('includes the tokens and the cost of each call as soon as its response has arrived', async () => {
    const name = await model();
    await client.chat.completions.create({ model: name, messages });
    for await (const one of await client.chat.completions.create({ model: name, messages, stream: true }))
      expect(one.id).toBeTruthy();
    const { items, total } = await usage();
    expect(items).toEqual([
      expect.objectContaining({
        model: name,
        principal_id: account.serviceAccountId,
        call_count: 2,
        failed_count: 0,
        input_tokens: 20,
        output_tokens: 10,
        cost_usd: expect.closeTo(2 * COST, 12),
      }),
    ]);
    expect(total).toMatchObject({ call_count: 2 });
  });

  it('includes failed calls, which cost nothing', async () => {
    provider.answer = (_call, response) => json(response, { error: { message: 'no' } }, 500);
    await expect(client.chat.completions.create({ model: await model(), messages })).rejects.toThrow();
    expect((await usage()).total).toMatchObject({
      call_count: 1,
      failed_count: 1,
      unpriced_count: 0,
      cost_usd: 0,
    });
  });

  it('includes an estimate for a stream whose client disconnects before the provider reports the usage', async () => {
    provider.answer = (_call, response) => {
      begin(response);
      for (let one = 0; one < 100; one++) send(response, contentChunk('word '));
    };
    const controller = new AbortController();
    const stream = await client.chat.completions.create(
      { model: await model(), messages, stream: true },
      { signal: controller.signal },
    );
    const chunks = stream[Symbol.asyncIterator]();
    for (let one = 0; one < 50; one++) await chunks.next();
    controller.abort();
    await until(async () => (await usage()).total.call_count === 1);
    const { total } = await usage();
    expect(total.output_tokens).toBeGreaterThanOrEqual(50);
    expect(total.cost_usd).toBeGreaterThan(0);
  });

  it('counts calls without a known price, and prefers prices of targets to those of the table', async () => {
    const provider_id = await newProvider(admin, org.workspaceId, provider);
    const price = { input_usd_per_million: 100, output_usd_per_million: 0 };
    for (const [name, target] of [
      ['unpriced', { provider_id, upstream_model: 'unknown' }],
      ['priced', { provider_id, upstream_model: 'gpt-test', price }],
    ] as const) {
      await admin.post('/model/v1/models', { workspace_id: org.workspaceId, name, targets: [target] });
      await client.chat.completions.create({ model: name, messages });
    }
    const { items } = await usage();
    const of = (name: string): object => items.find((one: { model: string }) => one.model === name);
    expect(of('unpriced')).toMatchObject({ unpriced_count: 1, cost_usd: 0, input_tokens: 10 });
    expect(of('priced')).toMatchObject({ unpriced_count: 0, cost_usd: expect.closeTo(0.001, 12) });
  });
});

describe('the span of a call', () => {
  const spanOf = async (traceId: string): Promise<any> => {
    const { body } = await admin.in(org.workspaceId).get(`/telemetry/v1/traces/${traceId}/spans`);
    return body.items[0];
  };

  it('is part of the caller’s trace, and follows the conventions for generative AI', async () => {
    const traceId = randomBytes(16).toString('hex');
    const parent = randomBytes(8).toString('hex');
    const name = await model();
    const { response } = await client.chat.completions
      .create(
        { model: name, messages, temperature: 0.5, max_completion_tokens: 20 },
        { headers: { traceparent: `00-${traceId}-${parent}-01` } },
      )
      .withResponse();
    expect(provider.last.headers.traceparent).toMatch(
      new RegExp(`^00-${traceId}-(?!${parent})[0-9a-f]{16}-01$`),
    );
    const span = await spanOf(traceId);
    expect(response.headers.get('traceresponse')).toBe(`00-${traceId}-${span.span_id}-01`);
    expect(span).toMatchObject({
      parent_span_id: parent,
      operation: 'chat',
      model: 'upstream-2026',
      input_tokens: 10,
      output_tokens: 5,
    });
    expect(span.cost_usd).toBeCloseTo(COST, 12);
    expect(span.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-test',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.max_tokens': 20,
      'gen_ai.response.finish_reasons': ['stop'],
      'model_gateway.model': name,
    });
    expect(JSON.stringify(span)).not.toContain('Hi');
    expect(JSON.stringify(span)).not.toContain('sk-of-the-provider');
  });

  it('contains the messages of plain and streamed calls if the model enables it', async () => {
    const name = await model({ capture_content: true });
    provider.answer = chatStream(['The ans', 'wer']);
    for (const stream of [false, true]) {
      const traceId = randomBytes(16).toString('hex');
      const headers = { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` };
      provider.answer = stream ? chatStream(['The ans', 'wer']) : chat('The answer');
      const answer = await client.chat.completions.create({ model: name, messages, stream }, { headers });
      if (stream) for await (const one of answer as AsyncIterable<object>) Object.keys(one);
      const span = await spanOf(traceId);
      expect(span.attributes['gen_ai.input.messages']).toContain('Hi');
      expect(span.attributes['gen_ai.output.messages']).toContain('The answer');
    }
  });

  it('reports the error of a failed call', async () => {
    provider.answer = (_call, response) => json(response, { error: { message: 'no' } }, 500);
    const traceId = randomBytes(16).toString('hex');
    const headers = { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` };
    await expect(
      client.chat.completions.create({ model: await model(), messages }, { headers }),
    ).rejects.toThrow();
    expect(await spanOf(traceId)).toMatchObject({
      status: { code: 'error', message: 'service_unavailable' },
      attributes: { 'error.type': 'service_unavailable' },
    });
  });

  it('is not recorded if the model disables it', async () => {
    const traceId = randomBytes(16).toString('hex');
    const headers = { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` };
    await client.chat.completions.create(
      { model: await model({ record_spans: false }), messages },
      { headers },
    );
    const { status } = await admin.in(org.workspaceId).get(`/telemetry/v1/traces/${traceId}`);
    expect(status).toBe(404);
  });
});

describe('a budget', () => {
  const spend = (name: string): Promise<unknown> => client.chat.completions.create({ model: name, messages });

  it('stops the calls of its model with 429, which clients do not retry', async () => {
    const name = await model({ monthly_budget_usd: COST });
    await spend(name);
    const refused = await app.api(account.key).post('/model/v1/chat/completions', { model: name, messages });
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(refused.body.error).toMatchObject({ code: 'insufficient_quota', type: 'insufficient_quota' });
    expect(refused.headers.get('x-should-retry')).toBe('false');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(provider.calls).toHaveLength(1);
  });

  it('lets clients retry while calls in flight have reserved it, although it is not spent', async () => {
    const name = await model({ monthly_budget_usd: 1 });
    const held: (() => void)[] = [];
    provider.answer = (call, response) => void held.push(() => void chat('ok')(call, response));
    // each reserves 0.60 US dollars, and costs far less
    const ask = { model: name, messages, max_tokens: 60_000 };
    const calls = [ask, ask].map((body) => client.chat.completions.create(body));
    await until(() => held.length === 2);
    const refused = await app.api(account.key).post('/model/v1/chat/completions', ask);
    expect([refused.status, refused.body.code, refused.body.error.code]).toEqual([
      ...[429, 'rate_limited', 'rate_limited'],
    ]);
    expect(refused.body.detail).toMatch(/reserved/);
    expect(refused.body.detail).not.toMatch(/month \(UTC\)/);
    expect([refused.headers.get('retry-after'), refused.headers.get('x-should-retry')]).toEqual(['5', null]);
    const { model_id } = (await admin.get(`/model/v1/models/${name}`)).body;
    const internal = app.get(InternalCalls).call({
      ...{ model: model_id as string, format: 'chat', body: JSON.stringify(ask), principalId: 'judges' },
      ...{ timeoutMs: 5_000, maxBytes: 1_000_000, signal: new AbortController().signal },
    });
    // judges wait, and call again
    await expect(internal).rejects.toMatchObject({
      reason: 'rate_limited',
      details: { retryAfterMs: 5_000 },
    });
    held.forEach((answer) => answer());
    await Promise.all(calls);
    provider.answer = chat('ok');
    expect((await app.api(account.key).post('/model/v1/chat/completions', ask)).status).toBe(200);
  });

  it('stops the calls of all models of its workspace', async () => {
    await admin.put(`/model/v1/budgets/${org.workspaceId}`, { monthly_budget_usd: COST });
    await spend(await model());
    await expect(spend(await model())).rejects.toMatchObject({ status: 429, code: 'insufficient_quota' });
    const { body } = await admin.get(`/model/v1/budgets/${org.workspaceId}`);
    expect(body).toMatchObject({ spent_usd: COST, remaining_usd: 0 });
    await admin.put(`/model/v1/budgets/${org.workspaceId}`, { monthly_budget_usd: null });
    await spend(await model());
  });

  it('is not exceeded by many concurrent calls', async () => {
    const name = await model({ monthly_budget_usd: COST * 3 });
    provider.answer = (call, response) => void setTimeout(() => void chat('ok')(call, response), 50);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, () =>
        client.chat.completions.create({ model: name, messages, max_completion_tokens: 5 }),
      ),
    );
    const answered = outcomes.filter(({ status }) => status === 'fulfilled').length;
    expect(answered).toBeGreaterThanOrEqual(1);
    expect(answered).toBeLessThanOrEqual(6);
    expect(provider.calls).toHaveLength(answered);
  });

  it('rejects calls whose price is unknown', async () => {
    const provider_id = await newProvider(admin, org.workspaceId, provider);
    await admin.post('/model/v1/models', {
      workspace_id: org.workspaceId,
      name: 'unpriced',
      targets: [{ provider_id, upstream_model: 'unknown' }],
      monthly_budget_usd: 1,
    });
    await expect(spend('unpriced')).rejects.toMatchObject({ status: 409, code: 'conflict' });
    expect(provider.calls).toEqual([]);
  });
});

describe('a gateway key', () => {
  const newKey = async (
    body: object,
  ): Promise<{ key: string; key_id: string; service_account_id: string }> => {
    const answer = await admin.post('/model/v1/keys', {
      workspace_id: org.workspaceId,
      name: 'mobile',
      ...body,
    });
    expect(answer.status).toBe(201);
    return answer.body as never;
  };
  const call = (key: string, name: string) =>
    app.api(key).post('/model/v1/chat/completions', { model: name, messages });

  it('can call only its models', async () => {
    const [mine, other] = [await model(), await model()];
    const { key } = await newKey({ models: [mine] });
    expect((await call(key, mine)).status).toBe(200);
    const refused = await call(key, other);
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
  });

  it('has its own budget, and can read the amount it has spent', async () => {
    const name = await model();
    const { key } = await newKey({ monthly_budget_usd: COST });
    expect((await call(key, name)).status).toBe(200);
    const refused = await call(key, name);
    expect([refused.status, refused.body.error.code]).toEqual([429, 'insufficient_quota']);
    const { body } = await app.api(key).get('/model/v1/keys/current');
    expect(body).toMatchObject({ monthly_budget_usd: COST, spent_usd: expect.closeTo(COST, 12) });
    const own = await app.api(key).get('/model/v1/usage');
    expect(own.body.total).toMatchObject({ call_count: 1 });
    expect(
      (await app.api(account.key).post('/model/v1/chat/completions', { model: name, messages })).status,
    ).toBe(200);
  });

  it('is limited in requests and tokens per minute', async () => {
    const name = await model();
    const requests = await newKey({ requests_per_minute: 1 });
    expect((await call(requests.key, name)).status).toBe(200);
    expect((await call(requests.key, name)).status).toBe(429);
    const tokens = await newKey({ name: 'tokens', tokens_per_minute: 15 });
    expect((await call(tokens.key, name)).status).toBe(200);
    await until(async () => (await call(tokens.key, name)).status === 429);
  });

  it('stops working once it is revoked', async () => {
    const name = await model();
    const { key, key_id } = await newKey({});
    expect((await call(key, name)).status).toBe(200);
    await admin.post(`/model/v1/keys/${key_id}/revoke`);
    expect((await call(key, name)).status).toBe(401);
  });
});

describe('cached responses', () => {
  const ask = (name: string, text: string, more: object = {}) =>
    app.api(account.key).post('/model/v1/chat/completions', {
      model: name,
      messages: [{ role: 'user', content: text }],
      ...more,
    });

  it('are off by default', async () => {
    const name = await model();
    for (let one = 0; one < 2; one++) expect((await ask(name, 'Hi')).headers.has('cache-status')).toBe(false);
    expect(provider.calls).toHaveLength(2);
  });

  it('are returned for the same request with Cache-Status, and cost nothing', async () => {
    const name = await model({ cache_ttl_seconds: 60 });
    const first = await ask(name, 'Hi');
    expect(first.headers.get('cache-status')).toBe('model-gateway; fwd=miss');
    const second = await ask(name, 'Hi');
    expect(second.headers.get('cache-status')).toMatch(/^model-gateway; hit; ttl=\d+$/);
    expect(second.body).toEqual(first.body);
    expect((await ask(name, 'Other')).headers.get('cache-status')).toBe('model-gateway; fwd=miss');
    expect(provider.calls).toHaveLength(2);
    expect((await usage()).total).toMatchObject({
      call_count: 3,
      cached_count: 1,
      cost_usd: expect.closeTo(2 * COST, 12),
    });
  });

  it('have a span with their content, without tokens', async () => {
    const name = await model({ cache_ttl_seconds: 60, capture_content: true });
    await ask(name, 'Hi');
    const { headers } = await ask(name, 'Hi');
    const [, traceId] = headers.get('traceresponse')!.split('-');
    const { body } = await admin.in(org.workspaceId).get(`/telemetry/v1/traces/${traceId}/spans`);
    expect(body.items[0]).toMatchObject({ model: 'upstream-2026', input_tokens: null, cost_usd: 0 });
    expect(body.items[0].attributes).toMatchObject({
      'gen_ai.request.model': 'gpt-test',
      'gen_ai.output.messages': expect.stringContaining('Hello'),
      'model_gateway.cache_hit': true,
    });
  });

  it('are not used for streams, after a change of the model, or for another model', async () => {
    const name = await model({ cache_ttl_seconds: 60 });
    await ask(name, 'Hi');
    const streamed = await ask(name, 'Hi', { stream: true });
    expect(streamed.headers.get('cache-status')).toBe('model-gateway; fwd=bypass');
    const { body } = await admin.get(`/model/v1/models/${name}`);
    await admin.patch(`/model/v1/models/${body.model_id}`, { description: 'changed' });
    expect((await ask(name, 'Hi')).headers.get('cache-status')).toBe('model-gateway; fwd=miss');
    expect((await ask(await model({ cache_ttl_seconds: 60 }), 'Hi')).headers.get('cache-status')).toMatch(
      /miss/,
    );
  });
});
