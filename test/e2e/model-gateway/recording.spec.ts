import { getEventListeners, once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import { Metrics } from '#platform/metrics';
import { type ApiClient, sharedApp, newOrganization, type TestOrganization, until } from '#testing';
import { problem } from '#platform/problem';
import { RateLimits } from '#platform/rate-limit';
import { AnswerCacheRepository } from '../../../src/model-gateway/calls/answer-cache.repository';
import { InternalCalls } from '../../../src/model-gateway/calls/internal-calls';
import { ProviderClient } from '../../../src/model-gateway/calls/provider-client';
import { BudgetReservations } from '../../../src/model-gateway/budgets/budget-reservations';
import {
  begin,
  chat,
  contentChunk,
  FakeProvider,
  json,
  message,
  modelOf,
  newModel,
  newProvider,
  send,
} from './provider.fixture';

const COMPLETIONS = '/model/v1/chat/completions';
/** Tokens that are assumed for the largest answer of an unknown model. */
const LARGEST_ANSWER = 128_000;
const messages = [{ role: 'user', content: 'Hi' }];
/** More than any call here costs. */
const BUDGET = { monthly_budget_usd: 1_000 };

/** Returns the URL of a port that nobody listens on. */
async function closedPort(): Promise<string> {
  const provider = await FakeProvider.listen();
  const { url } = provider;
  await provider.close();
  return url;
}

/** However a call ends, it is recorded once, and its reservation is released. */
describe('a call', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let org: TestOrganization;
  let admin: ApiClient;
  let key: string;
  let provider: FakeProvider;

  beforeEach(async () => {
    org = await newOrganization(app);
    admin = await org.member('admin');
    key = (await org.serviceAccount('runtime')).key;
    provider = await FakeProvider.listen();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await provider.close();
  });

  const model = (more: Record<string, unknown> = {}): Promise<string> =>
    modelOf(admin, org.workspaceId, provider, { ...BUDGET, ...more });
  const ask = (name: string, more: object = {}) =>
    app.api(key).post(COMPLETIONS, { model: name, messages, ...more });
  const total = async (of: ApiClient = admin): Promise<any> =>
    (await of.get(`/model/v1/usage?workspace_id=${org.workspaceId}`)).body.total;
  const reservedOf = async (name: string): Promise<number> => {
    const { body } = await admin.get(`/model/v1/models/${name}`);
    return app.get(BudgetReservations).heldBy(body.model_id as string);
  };

  /** Starts a stream, and waits for its response headers. */
  async function startStream(url: string, name: string, more: object = {}) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const request = http.request(url + COMPLETIONS, { method: 'POST', headers });
    request
      .on('error', () => undefined)
      .end(JSON.stringify({ model: name, messages, stream: true, ...more }));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    return { request, response };
  }

  it.each([-1_000_000_000, 1e300, 0.5])(
    'leaves no reservation if its max_tokens is %d',
    async (max_tokens) => {
      const name = await model();
      expect((await ask(name, { max_tokens })).status).toBe(200);
      expect(await reservedOf(name)).toBe(0);
      expect((await ask(name)).status).toBe(200);
      expect(await total()).toMatchObject({ call_count: 2, failed_count: 0 });
    },
  );

  it.each([false, true])('is recorded if the cache cannot be read (stream: %s)', async (stream) => {
    const name = await model({ cache_ttl_seconds: 60 });
    const cache = app.get(AnswerCacheRepository);
    jest.spyOn(cache, 'find').mockRejectedValue(new Error('the database is away'));
    provider.answer = chat('Hello');
    const { status } = await ask(name, { stream });
    // streams are not cached
    expect(status).toBe(stream ? 200 : 500);
    expect(await reservedOf(name)).toBe(0);
    expect(await total()).toMatchObject({ call_count: 1, failed_count: stream ? 0 : 1 });
  });

  it('counts in metrics: its outcome, request, tokens and cost, and the refusal of a spent budget', async () => {
    const name = await model();
    const valuesOf = async (): Promise<Record<string, number>> =>
      Object.fromEntries(
        [...(await app.get(Metrics).text()).matchAll(/^(registry_model_\S+) (\S+)$/gm)].map(
          ([, series, value]) => [series!, Number(value)],
        ),
      );
    const before = await valuesOf();
    expect((await ask(name)).status).toBe(200);
    const { model_id } = (await admin.get(`/model/v1/models/${name}`)).body;
    await admin.patch(`/model/v1/models/${model_id}`, { monthly_budget_usd: 1e-12 });
    expect((await ask(name)).status).toBe(429);
    const after = await valuesOf();
    const { input_tokens, output_tokens, cost_usd } = await total();
    const grown = (series: string): number => after[series]! - (before[series] ?? 0);
    expect(grown('registry_model_calls_total{provider_kind="openai",outcome="answered"}')).toBe(1);
    expect(grown('registry_model_attempts_total{provider_kind="openai",outcome="answered"}')).toBe(1);
    expect(grown('registry_model_tokens_total{provider_kind="openai",direction="input"}')).toBe(input_tokens);
    expect(grown('registry_model_tokens_total{provider_kind="openai",direction="output"}')).toBe(
      output_tokens,
    );
    expect(grown('registry_model_cost_usd_total{provider_kind="openai"}')).toBeCloseTo(cost_usd, 9);
    expect(grown('registry_model_call_duration_seconds_count{provider_kind="openai"}')).toBe(1);
    expect(grown('registry_model_budget_refusals_total{reason="spent"}')).toBe(1);
  });

  it('is recorded with its span even if its content has no text', async () => {
    const name = await model({ capture_content: true });
    const odd = [null, 7, { role: 'user', content: [null, 7] }, { role: 'user', content: {} }];
    expect((await ask(name, { messages: odd })).status).toBe(200);
    expect(await reservedOf(name)).toBe(0);
    expect(await total()).toMatchObject({ call_count: 1 });
  });

  it('gets its response even if its tokens cannot be counted', async () => {
    const name = await model();
    const { body } = await admin.post('/model/v1/keys', {
      workspace_id: org.workspaceId,
      name: 'limited',
      tokens_per_minute: 1_000_000,
    });
    const rates = app.get(RateLimits);
    const rejected = jest.fn();
    process.on('unhandledRejection', rejected);
    jest
      .spyOn(rates, 'checkOwn')
      .mockImplementation((_limit, points) =>
        points === 0 ? Promise.resolve(null) : Promise.reject(new Error('the counter is away')),
      );
    try {
      const answer = await app.api(body.key as string).post(COMPLETIONS, { model: name, messages });
      expect(answer.status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(rejected).not.toHaveBeenCalled();
    } finally {
      process.off('unhandledRejection', rejected);
    }
  });

  it.each([
    ['before the provider responds', () => undefined],
    ['after the headers of the provider', begin],
  ] as const)('is recorded if its client disconnects %s', async (_, answer) => {
    const name = await model();
    provider.answer = (_call, response) => answer(response);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    for (const stream of [false, true]) {
      const calls = provider.calls.length;
      const request = http.request(app.url + COMPLETIONS, { method: 'POST', headers });
      request.on('error', () => undefined).end(JSON.stringify({ model: name, messages, stream }));
      await until(() => provider.calls.length === calls + 1);
      request.destroy();
      await until(async () => (await total()).failed_count === calls + 1);
      // the span is stored after the usage
      await until(async () => (await reservedOf(name)) === 0);
    }
    // the providers have received the requests, and may charge for them
    expect(await total()).toMatchObject({ call_count: 2, cost_usd: expect.any(Number) });
    expect((await total()).input_tokens).toBeGreaterThan(2 * 10);
    await until(() => provider.aborted === 2);
  });

  it('is recorded once if its stream breaks off', async () => {
    const name = await model();
    provider.answer = (_call, response) => {
      begin(response);
      send(response, contentChunk('half'));
      setTimeout(() => response.destroy(), 20);
    };
    const { response } = await startStream(app.url, name);
    await new Promise((resolve) => response.resume().on('close', resolve));
    await until(async () => (await total()).call_count === 1);
    expect(await total()).toMatchObject({ call_count: 1, failed_count: 1 });
    await until(async () => (await reservedOf(name)) === 0);
  });

  it('is charged for the received part if its client disconnects before Anthropic reports the output', async () => {
    const name = await model({ kind: 'anthropic' });
    provider.answer = (_call, response) => {
      begin(response);
      const usage = { input_tokens: 7, output_tokens: 1 };
      send(response, { type: 'message_start', message: message([], { usage }) }, 'message_start');
      const delta = { type: 'text_delta', text: 'word '.repeat(400) };
      send(response, { type: 'content_block_delta', index: 0, delta }, 'content_block_delta');
    };
    const { request, response } = await startStream(app.url, name);
    let length = 0;
    response.on('data', (chunk: Buffer) => (length += chunk.length));
    await until(() => length > 2_000);
    request.destroy();
    await until(async () => (await total()).call_count === 1);
    const { input_tokens, output_tokens, estimated_count } = await total();
    expect([input_tokens, estimated_count]).toEqual([7, 1]);
    // the model may have generated more than it has shown
    expect(output_tokens).toBeGreaterThanOrEqual(500);
    expect(output_tokens).toBeLessThan(LARGEST_ANSWER);
  });

  it('is charged the reported usage if its client disconnects before the end mark', async () => {
    const name = await model();
    const usage = { prompt_tokens: 7, completion_tokens: 2 };
    provider.answer = (_call, response) => {
      begin(response);
      send(response, { id: 'c', choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] });
      send(response, { id: 'c', choices: [], usage });
    };
    const { request, response } = await startStream(app.url, name, {
      stream_options: { include_usage: true },
    });
    let text = '';
    response.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await until(() => text.includes('completion_tokens'));
    request.destroy();
    await until(async () => (await total()).call_count === 1);
    expect(await total()).toMatchObject({ input_tokens: 7, output_tokens: 2, estimated_count: 0 });
  });

  it('does not get a response that was cached for other headers of its format', async () => {
    const name = await model({ cache_ttl_seconds: 60 });
    const by = app.api(key);
    const body = { model: name, messages };
    for (const beta of ['one', 'two']) {
      const { headers } = await by.post(COMPLETIONS, body, { 'openai-beta': beta });
      expect(headers.get('cache-status')).toBe('model-gateway; fwd=miss');
    }
    const again = await by.post(COMPLETIONS, body, { 'openai-beta': 'one' });
    expect(again.headers.get('cache-status')).toMatch(/hit/);
  });

  it('is recorded if it is running when the process stops, even if its client disconnects then', async () => {
    const name = await model({ ...BUDGET, monthly_budget_usd: null });
    provider.answer = (_call, response) => {
      begin(response);
      for (let one = 0; one < 100; one++) send(response, contentChunk('word '));
    };
    const stopping = await app.another({ SHUTDOWN_SECONDS: '2' });
    const streams = await Promise.all([startStream(stopping.url, name), startStream(stopping.url, name)]);
    for (const { response } of streams) await once(response, 'readable');
    const closed = stopping.close();
    streams[0]!.request.destroy();
    await closed;
    expect((await total()).call_count).toBe(2);
    const { body } = await admin.in(org.workspaceId).get('/telemetry/v1/traces');
    expect(body.items).toHaveLength(2);
  });

  it('counts the tokens that the provider received if its response cannot be read', async () => {
    const name = await model();
    // as if the memory for the response were exhausted
    jest.spyOn(app.get(ProviderClient), 'whole').mockImplementationOnce((request) => {
      request.isSent = true;
      return Promise.reject(problem.overloaded('The memory is exhausted.'));
    });
    expect((await ask(name)).status).toBe(503);
    const { call_count, failed_count, input_tokens, cost_usd } = await total();
    expect([call_count, failed_count, input_tokens > 0, cost_usd > 0]).toEqual([1, 1, true, true]);
    expect(await reservedOf(name)).toBe(0);
  });

  it('leaves no reservation if its cached response cannot be read', async () => {
    const name = await model({ cache_ttl_seconds: 60 });
    expect((await ask(name)).status).toBe(200);
    const broken = { body: Buffer.from('{"half'), seconds: 9 };
    jest.spyOn(app.get(AnswerCacheRepository), 'find').mockResolvedValueOnce(broken);
    expect((await ask(name)).status).toBe(503);
    expect(await reservedOf(name)).toBe(0);
    expect(await total()).toMatchObject({ call_count: 2, failed_count: 1 });
  });

  it('leaves no listeners on the signal of its caller', async () => {
    const { signal } = new AbortController();
    const calls = app.get(InternalCalls);
    const called = await calls.findIn(org.workspaceId, await model());
    const model_id = called!.model_id;
    const limits = { timeoutMs: 60_000, maxBytes: 1_000_000 };
    const call = { model: model_id, format: 'chat', principalId: 'test', signal, ...limits } as const;
    const body = JSON.stringify({ model: 'any', messages });
    await calls.call({ ...call, body });
    provider.answer = (_call, response) => json(response, {}, 500);
    await expect(calls.call({ ...call, body })).rejects.toThrow('500');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('is recorded with its error if it fails', async () => {
    const name = await model();
    provider.answer = (_call, response) => json(response, { error: { message: 'no' } }, 400);
    expect((await ask(name)).status).toBe(400);
    // a rejected request costs nothing
    expect(await total()).toMatchObject({ call_count: 1, failed_count: 1, input_tokens: 0, cost_usd: 0 });
    expect(await reservedOf(name)).toBe(0);
  });

  it.each([
    ['with its usage', { usage: { prompt_tokens: 100, completion_tokens: 10 } }, 200, 20],
    ['with the most that it can cost', { hello: 'world' }, undefined, 2 * LARGEST_ANSWER],
  ])('is charged each unusable response %s', async (_, unusable, input, output) => {
    const name = await model({ retries: 1 });
    provider.answer = (_call, response) => json(response, unusable);
    expect((await ask(name)).status).toBe(503);
    const input_tokens = input ?? 2 * JSON.stringify({ model: name, messages }).length;
    const { cost_usd, estimated_usd, ...counts } = await total();
    const estimated_count = input === undefined ? 1 : 0;
    expect(counts).toMatchObject({
      ...{ call_count: 1, failed_count: 1, estimated_count },
      ...{ input_tokens, output_tokens: output },
    });
    expect(estimated_usd).toBe(estimated_count * cost_usd);
    expect(cost_usd).toBeCloseTo((input_tokens * 2 + output * 10) / 1e6, 12);
    expect(await reservedOf(name)).toBe(0);
  });

  it('is charged the usage of a response that is not the stream that it requested', async () => {
    const name = await model();
    const usage = { prompt_tokens: 100, completion_tokens: 10 };
    provider.answer = (_call, response) => json(response, { choices: [], usage });
    expect((await ask(name, { stream: true })).status).toBe(503);
    expect(await total()).toMatchObject({ failed_count: 1, input_tokens: 100, output_tokens: 10 });
  });

  it.each([
    [{}, LARGEST_ANSWER],
    [{ max_tokens: 100, n: 3 }, 300],
  ])(
    'is charged the most that it can cost if the provider does not respond in time (%j)',
    async (more, output) => {
      const name = await model({ timeout_ms: 200 });
      provider.answer = () => undefined;
      expect((await ask(name, more)).status).toBe(504);
      const input_tokens = JSON.stringify({ model: name, messages, ...more }).length;
      const { cost_usd, estimated_usd, ...counts } = await total();
      expect(counts).toMatchObject({
        failed_count: 1,
        estimated_count: 1,
        input_tokens,
        output_tokens: output,
      });
      expect(estimated_usd).toBe(cost_usd);
    },
  );

  it.each([false, true])('costs nothing if it could not be sent (stream: %s)', async (stream) => {
    const name = await modelOf(admin, org.workspaceId, await closedPort(), { ...BUDGET, retries: 1 });
    expect((await ask(name, { stream })).status).toBe(503);
    expect(await total()).toMatchObject({ failed_count: 1, attempts: 2, estimated_count: 0, cost_usd: 0 });
    expect(await reservedOf(name)).toBe(0);
  });

  it('is not retried if the retry would exceed a budget that the first attempt has used up', async () => {
    const name = await model({ timeout_ms: 200, retries: 2, monthly_budget_usd: 1 });
    provider.answer = () => undefined;
    expect((await ask(name, { max_tokens: 100_000 })).status).toBe(504);
    expect(provider.calls).toHaveLength(1);
    expect((await ask(name, { max_tokens: 1 })).body.error.code).toBe('insufficient_quota');
  });

  it('reserves the limits of its target', async () => {
    const provider_id = await newProvider(admin, org.workspaceId, provider);
    const limits = { max_input_tokens: 50, max_output_tokens: 1_000 };
    const targets = [{ provider_id, upstream_model: 'gpt-test', ...limits }];
    await newModel(admin, org.workspaceId, { name: 'small', targets, timeout_ms: 200 });
    provider.answer = () => undefined;
    expect((await ask('small', { previous_response_id: 'resp_1' })).status).toBe(504);
    expect(await total()).toMatchObject({ input_tokens: 50, output_tokens: 1_000 });
  });
});
