import Anthropic from '@anthropic-ai/sdk';
import { sharedApp } from '#testing';
import { ClientsFixture } from './clients.fixture';
import { chat, json, modelOf } from './provider.fixture';

const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
const PATH = '/model/v1/messages/count_tokens';
let on: ClientsFixture;

beforeAll(async () => {
  on = await ClientsFixture.create(app);
});
beforeEach(async () => {
  await on.listen();
  on.provider.answer = (_call, response) => json(response, { input_tokens: 2_095 });
});
afterEach(() => on.close());

const messages = [{ role: 'user' as const, content: 'Where is order 7?' }];
const tools = [{ name: 'find', input_schema: { type: 'object' as const, properties: {} } }];

describe("counting tokens with Anthropic's client", () => {
  it('is done by a provider of kind anthropic', async () => {
    const model = await on.single('anthropic');
    const counted = await on.anthropic.messages.countTokens({ model, messages, system: 'Be brief.', tools });
    expect(counted).toEqual({ input_tokens: 2_095 });
    expect(on.provider.last.path).toBe('/v1/messages/count_tokens');
    expect(on.provider.last.body).toEqual({ model: 'gpt-test', messages, system: 'Be brief.', tools });
    expect(on.provider.last.headers).toMatchObject({ 'x-api-key': 'sk-of-the-provider' });
    expect(await on.usageOf(model)).toMatchObject({ call_count: 0, attempts: 0 });
  });

  it('estimates for providers of kind openai and sets `is_estimated`', async () => {
    const model = await on.single('openai');
    const short = await on.anthropic.messages.countTokens({ model, messages });
    expect(short).toEqual({ input_tokens: expect.any(Number), is_estimated: true });
    const long = await on.anthropic.messages.countTokens({
      model,
      messages,
      system: 'x'.repeat(4_000),
      tools,
    });
    expect(long.input_tokens - short.input_tokens).toBeGreaterThan(1_000);
    expect(on.provider.calls).toEqual([]);
  });

  it.each([
    ['does not know the operation', 404, { error: { message: 'Not Found' } }],
    ['is down', 500, {}],
    ['rejects its key', 401, {}],
    ['returns something else', 200, { tokens: 5 }],
    ['returns an error with status 200', 200, { type: 'error', error: { message: 'no' } }],
  ])('is estimated if the provider %s', async (_, status, body) => {
    on.provider.answer = (_call, response) => json(response, body, status);
    const counted = await on.anthropic.messages.countTokens({
      model: await on.single('anthropic'),
      messages,
    });
    expect(counted).toMatchObject({ is_estimated: true });
    expect(on.provider.calls).toHaveLength(1);
  });

  it('works with the client’s beta, and with its key as x-api-key', async () => {
    const model = await on.single('anthropic');
    const client = new Anthropic({ baseURL: `${app.url}/model`, apiKey: on.key, maxRetries: 0 });
    const betas = ['token-counting-2024-11-01'];
    expect((await client.beta.messages.countTokens({ model, messages, betas })).input_tokens).toBe(2_095);
    expect(on.provider.last.headers['anthropic-beta']).toContain('token-counting');
  });

  it('reports what the provider rejects', async () => {
    on.provider.answer = (_call, response) => json(response, { error: { message: 'bad tool' } }, 400);
    const counting = on.anthropic.messages.countTokens({ model: await on.single('anthropic'), messages });
    await expect(counting).rejects.toMatchObject({
      status: 400,
      error: {
        type: 'error',
        error: { type: 'invalid_request_error', message: expect.stringContaining('bad tool') },
      },
    });
  });
});

describe('a request to count tokens', () => {
  const count = (key: string, body: object) => app.api(key).post(PATH, body);

  it('costs nothing, so a spent budget does not matter', async () => {
    const price = { input_usd_per_million: 1, output_usd_per_million: 1 };
    const name = await modelOf(on.admin, on.org.workspaceId, on.provider, { monthly_budget_usd: 0.000001 });
    const { model_id, targets } = (await on.admin.get(`/model/v1/models/${name}`)).body;
    await on.admin.patch(`/model/v1/models/${model_id}`, { targets: [{ ...targets[0], price }] });
    on.provider.answer = chat('Hello');
    await on.ask.openai!(name);
    await expect(on.ask.openai!(name)).rejects.toMatchObject({ status: 429 });
    expect((await count(on.key, { model: name, messages })).status).toBe(200);
  });

  it('obeys the models and the requests per minute of a key', async () => {
    const [mine, other] = [await on.single(), await on.single()];
    const { body } = await on.admin.post('/model/v1/keys', {
      ...{ workspace_id: on.org.workspaceId, name: mine, models: [mine], requests_per_minute: 1 },
    });
    const statuses = [];
    for (const model of [other, mine, mine])
      statuses.push((await count(body.key, { model, messages })).status);
    expect(statuses).toEqual([403, 200, 429]);
  });

  it.each([
    [{}, 400],
    [{ model: 'unknown', messages }, 404],
  ])('is rejected with an error that the client understands: %j', async (body, status) => {
    const refused = await count(on.key, body);
    expect([refused.status, refused.body.type, refused.body.error.message]).toEqual([
      ...[status, 'error', refused.body.detail],
    ]);
  });

  it('is rejected without messages, and with another method', async () => {
    const refused = await count(on.key, { model: await on.single() });
    expect([refused.status, refused.body.errors]).toEqual([
      ...[400, [{ pointer: '/messages', detail: 'must be an array of messages' }]],
    ]);
    expect((await app.api(on.key).get(PATH)).status).toBe(405);
  });
});
