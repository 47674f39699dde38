import type { ServerResponse } from 'node:http';
import { sharedApp, until } from '#testing';
import { ModelDirectory } from '../../../src/model-gateway/models/model-directory';
import { TargetFailureRepository } from '../../../src/model-gateway/models/target-failure.repository';
import { ClientsFixture } from './clients.fixture';
import { MODELS } from './gateway.fixture';
import { begin, chat, contentChunk, json, modelOf, type ProviderAnswer, send } from './provider.fixture';

const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
let on: ClientsFixture;

beforeAll(async () => {
  on = await ClientsFixture.create(app);
});
beforeEach(async () => {
  await on.listen();
  on.other.answer = chat('the other');
});
afterEach(() => on.close());

const fails =
  (status: number): ProviderAnswer =>
  (_call, response) =>
    json(response, { error: { message: 'no' } }, status);

/** Asks a model, and returns the text of the answer. */
const ask = (name: string): Promise<string> => on.ask.openai!(name);

const modelNamed = async (name: string): Promise<any> => (await on.admin.get(`${MODELS}/${name}`)).body;
const statesOf = async (name: string): Promise<string[]> =>
  (await modelNamed(name)).targets.map(({ state }: { state: string }) => state);

const usageByProvider = async (name: string): Promise<unknown[]> => {
  const { model_id, targets } = await modelNamed(name);
  const { body } = await on.admin.get(`/model/v1/usage?model_id=${model_id}&group_by=provider`);
  return targets.map(({ provider_id }: { provider_id: string }) => {
    const { call_count, attempts, failed_attempts } = body.items.find(
      (one: { provider_id: string }) => one.provider_id === provider_id,
    );
    return [call_count, attempts, failed_attempts];
  });
};

describe('a target that fails three times in a row', () => {
  it.each<[string, ProviderAnswer]>([
    ['500', fails(500)],
    ['429', fails(429)],
    ['401', fails(401)],
    ['404', fails(404)],
    ['an error with status 200', fails(200)],
    ['a closed connection', (_call, response) => void response.destroy()],
  ])('rests, shows it, and is counted in the usage: %s', async (_, answer) => {
    on.provider.answer = answer;
    const name = await on.fallback('openai', { cooldown_s: 600 });
    const before = await on.admin.get(`${MODELS}/${name}`);
    for (let call = 0; call < 3; call++) expect(await ask(name)).toBe('the other');
    const after = await on.admin.get(`${MODELS}/${name}`);
    const [first, second] = after.body.targets;
    expect(first).toMatchObject({ state: 'cooling_down', last_error_at: expect.any(String) });
    expect(second).toMatchObject({ state: 'active', last_error_at: null });
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
    for (let call = 0; call < 4; call++) expect(await ask(name)).toBe('the other');
    expect([on.provider.calls.length, on.other.calls.length]).toEqual([3, 7]);
    expect(await usageByProvider(name)).toEqual([
      [0, 3, 3],
      [7, 7, 0],
    ]);
    const { items } = (await on.admin.get(`${MODELS}?name=${name}`)).body;
    expect(items[0].targets).toEqual(after.body.targets);
  });

  it('rests after the retries of one call', async () => {
    on.provider.answer = fails(500);
    const name = await on.fallback('openai', { retries: 2 });
    await ask(name);
    expect(await statesOf(name)).toEqual(['cooling_down', 'active']);
    expect(await usageByProvider(name)).toEqual([
      [0, 3, 3],
      [1, 1, 0],
    ]);
  });

  it('rests if its streams break off', async () => {
    on.provider.answer = (_call, response) => {
      begin(response);
      send(response, contentChunk('Hel'));
      setTimeout(() => response.end(), 10);
    };
    const name = await on.fallback('openai');
    for (let call = 0; call < 3; call++) await expect(on.ask['openai, streamed']!(name)).rejects.toThrow();
    expect(await statesOf(name)).toEqual(['cooling_down', 'active']);
    expect(await on.ask['openai, streamed']!(name)).toBe('the other');
  });

  it('is tried again after its rest, and is active once it answers', async () => {
    on.provider.answer = fails(500);
    const name = await on.fallback('openai', { cooldown_s: 1 });
    for (let call = 0; call < 3; call++) await ask(name);
    on.provider.answer = chat('back');
    await until(async () => (await ask(name)) === 'back');
    expect(await statesOf(name)).toEqual(['active', 'active']);
    expect((await modelNamed(name)).targets[0].last_error_at).toEqual(expect.any(String));
  });

  it('cools down until it answers, and a rejected request is an answer', async () => {
    on.provider.answer = fails(400);
    const name = await on.fallback('openai');
    const { model_id, targets } = await modelNamed(name);
    await app.database.query(
      `INSERT INTO model_target_failures VALUES ($1, $2, 'up', 1, 1, now(), now() - interval '1 minute')`,
      [model_id, targets[0].provider_id],
    );
    app.get(ModelDirectory).invalidate(on.org.orgId);
    expect(await statesOf(name)).toEqual(['cooling_down', 'active']);
    await expect(ask(name)).rejects.toMatchObject({ status: 400 });
    expect(await statesOf(name)).toEqual(['active', 'active']);
  });

  it('is tried at once after its provider or the model was changed', async () => {
    on.provider.answer = fails(401);
    const name = await on.fallback('openai', { cooldown_s: 600 });
    for (let call = 0; call < 3; call++) await ask(name);
    on.provider.answer = chat('back');
    const { model_id, targets } = await modelNamed(name);
    await on.admin.patch(`/model/v1/providers/${targets[0].provider_id}`, { api_key: 'sk-new' });
    expect(await statesOf(name)).toEqual(['active', 'active']);
    expect(await ask(name)).toBe('back');
    on.provider.answer = fails(500);
    for (let call = 0; call < 3; call++) await ask(name);
    const unchanged = await on.admin.patch(`${MODELS}/${model_id}`, { cooldown_s: 600 });
    expect(unchanged.body.targets[0].state).toBe('cooling_down');
    const changed = await on.admin.patch(`${MODELS}/${model_id}`, {
      targets: unchanged.body.targets,
      retries: 1,
    });
    expect([changed.status, changed.body.targets[0].state]).toEqual([200, 'active']);
  });

  it('is still called if there is no other target', async () => {
    on.provider.answer = fails(500);
    const name = await modelOf(on.admin, on.org.workspaceId, on.provider);
    for (let call = 0; call < 5; call++) await expect(ask(name)).rejects.toMatchObject({ status: 503 });
    expect(on.provider.calls).toHaveLength(5);
    expect(await statesOf(name)).toEqual(['cooling_down']);
    on.provider.answer = chat('back');
    expect(await ask(name)).toBe('back');
    expect(await statesOf(name)).toEqual(['active']);
  });

  it('is still called if all others rest or fail', async () => {
    on.provider.answer = fails(500);
    on.other.answer = fails(500);
    const name = await on.fallback('openai', { cooldown_s: 600 });
    for (let call = 0; call < 3; call++) await expect(ask(name)).rejects.toMatchObject({ status: 503 });
    expect(await statesOf(name)).toEqual(['cooling_down', 'cooling_down']);
    on.provider.answer = chat('back');
    expect(await ask(name)).toBe('back');
  });

  it('never rests if cooldown_s is 0', async () => {
    on.provider.answer = fails(500);
    const name = await on.fallback('openai', { cooldown_s: 0 });
    for (let call = 0; call < 5; call++) await ask(name);
    expect(on.provider.calls).toHaveLength(5);
    expect(await statesOf(name)).toEqual(['active', 'active']);
    expect((await modelNamed(name)).targets[0].last_error_at).toEqual(expect.any(String));
  });
});

it('a target does not rest because of requests that it rejects or cannot express', async () => {
  on.provider.answer = fails(400);
  const name = await on.fallback('openai');
  for (let call = 0; call < 4; call++) await expect(ask(name)).rejects.toMatchObject({ status: 400 });
  const anthropic = await on.fallback('anthropic');
  const body = { model: anthropic, messages: [{ role: 'user', content: 'Hi' }], n: 2 };
  for (let call = 0; call < 4; call++) {
    expect((await app.api(on.key).post('/model/v1/chat/completions', body)).status).toBe(400);
  }
  for (const one of [name, anthropic]) expect(await statesOf(one)).toEqual(['active', 'active']);
});

it('a target of a server without Responses does not rest for chat completions', async () => {
  on.provider.answer = (call, response: ServerResponse) =>
    call.path.endsWith('/responses')
      ? json(response, { error: { message: 'Not Found' } }, 404)
      : chat('Hello')(call, response);
  const name = await on.single();
  for (let call = 0; call < 4; call++) {
    await expect(on.openai.responses.create({ model: name, input: 'Hi' })).rejects.toThrow();
  }
  expect(await statesOf(name)).toEqual(['active']);
});

it('a failure from before a change does not replace a later one', async () => {
  on.provider.answer = chat('the first');
  const name = await on.fallback('openai');
  const { model_id } = await modelNamed(name);
  const [before] = await app.get(ModelDirectory).find(on.org.orgId, name);
  await on.admin.patch(`${MODELS}/${model_id}`, { retries: 1 });
  const [after] = await app.get(ModelDirectory).find(on.org.orgId, name);
  const failures = app.get(TargetFailureRepository);
  await failures.put(after!, after!.targets[0]!, 60);
  await failures.put(before!, before!.targets[0]!, 0);
  expect(await statesOf(name)).toEqual(['cooling_down', 'active']);
});

it.each([
  ['invalid_prompt', 'active'],
  ['server_error', 'cooling_down'],
])('streams of Responses that fail with %s leave the target %s', async (code, state) => {
  const error = { code, message: 'no' };
  on.provider.answer = (_call, response) => {
    begin(response);
    send(response, { type: 'response.created', response: { id: 'r', output: [] } }, 'response.created');
    const failed = { id: 'r', status: 'failed', output: [], error };
    send(response, { type: 'response.failed', response: failed }, 'response.failed');
    response.end();
  };
  const name = await on.fallback('openai');
  for (let call = 0; call < 3; call++) {
    const stream = await on.openai.responses.create({ model: name, input: 'Hi', stream: true });
    const types: string[] = [];
    for await (const one of stream) types.push(one.type);
    expect(types.at(-1)).toBe('response.failed');
  }
  expect(await statesOf(name)).toEqual([state, 'active']);
});

it('a process learns the rests of targets that another process has stored', async () => {
  on.provider.answer = chat('the first');
  const name = await on.fallback('openai');
  const { model_id, targets } = await modelNamed(name);
  await app.database.query(
    `INSERT INTO model_target_failures VALUES ($1, $2, 'up', 1, 1, now(), now() + interval '1 minute')`,
    [model_id, targets[0].provider_id],
  );
  app.get(ModelDirectory).invalidate(on.org.orgId);
  expect(await statesOf(name)).toEqual(['cooling_down', 'active']);
  expect(await ask(name)).toBe('the other');
});
