import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI from 'openai';
import { type ApiClient, newOrganization, sharedApp, type TestOrganization, until } from '#testing';
import {
  begin,
  chat,
  chatCompletion,
  chatStream,
  contentChunk,
  FakeProvider,
  json,
  message,
  messageStream,
  modelOf,
  newModel,
  newProvider,
  send,
} from './provider.fixture';

const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
let org: TestOrganization;
let admin: ApiClient;
let key: string;
let client: OpenAI;
let provider: FakeProvider;
let other: FakeProvider;

beforeAll(async () => {
  org = await newOrganization(app);
  admin = await org.member('admin');
  key = (await org.serviceAccount('runtime')).key;
  client = new OpenAI({ baseURL: `${app.url}/model/v1`, apiKey: key, maxRetries: 0 });
});
beforeEach(async () => {
  provider = await FakeProvider.listen();
  other = await FakeProvider.listen();
});
afterEach(async () => {
  await provider.close();
  await other.close();
});

const messages = [{ role: 'user' as const, content: 'Hi' }];
const model = (more: Record<string, unknown> = {}): Promise<string> =>
  modelOf(admin, org.workspaceId, provider, more);

async function textOf(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

describe('the OpenAI client', () => {
  it('gets a chat completion', async () => {
    const answer = await client.chat.completions.create({ model: await model(), messages });
    expect(answer.choices[0]!.message.content).toBe('Hello');
    expect(answer.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
    expect(provider.last.path).toBe('/v1/chat/completions');
    expect(provider.last.headers.authorization).toBe('Bearer sk-of-the-provider');
    expect(provider.last.body).toEqual({ model: 'gpt-test', messages });
  });

  it('streams, and gets the usage only if it requests it', async () => {
    provider.answer = chatStream(['Hel', 'lo']);
    const name = await model();
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const one of await client.chat.completions.create({ model: name, messages, stream: true }))
      chunks.push(one);
    expect(chunks.map((one) => one.choices[0]?.delta.content ?? '').join('')).toBe('Hello');
    expect(chunks.every((one) => one.choices.length > 0)).toBe(true);
    expect(provider.last.body.stream_options).toEqual({ include_usage: true });
    const chunksWithUsage = await client.chat.completions.create({
      model: name,
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    const usages = [];
    for await (const one of chunksWithUsage) if (one.usage) usages.push(one.usage.total_tokens);
    expect(usages).toEqual([15]);
  });

  it('gets tool calls and structured output', async () => {
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'weather', arguments: '{"city":"Paris"}' },
    };
    provider.answer = (_call, response) =>
      json(response, chatCompletion({ role: 'assistant', content: null, tool_calls: [call] }));
    const tools = [
      {
        type: 'function' as const,
        function: { name: 'weather', parameters: { type: 'object', properties: {} } },
      },
    ];
    const answer = await client.chat.completions.create({ model: await model(), messages, tools });
    expect(answer.choices[0]!.message.tool_calls).toEqual([call]);
    expect(provider.last.body.tools).toEqual(tools);
    provider.answer = chat('{"ok":true}');
    const parsed = await client.chat.completions.parse({
      model: await model(),
      messages,
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'x',
          strict: true,
          schema: { type: 'object', properties: { ok: { type: 'boolean' } } },
        },
      },
    });
    expect(parsed.choices[0]!.message.parsed).toEqual({ ok: true });
  });

  it('can send unknown members, which are passed on digit for digit', async () => {
    const name = await model();
    const raw = `{"seed": 12345678901234567890, "model": ${JSON.stringify(name)}, "x_new": {"a": 1.0, "model": "inner"}, "messages": [{"role":"user","content":"\\"model\\": \\u00e9 }"}]}`;
    const answer = await app
      .api(key)
      .post('/model/v1/chat/completions', raw, { 'content-type': 'application/json' });
    expect(answer.status).toBe(200);
    expect(provider.last.text).toBe(raw.replace(JSON.stringify(name), '"gpt-test"'));
  });

  it('calls a model of Anthropic', async () => {
    provider.answer = (_call, response) => json(response, message([{ type: 'text', text: 'Bonjour' }]));
    const name = await model({ kind: 'anthropic' });
    const answer = await client.chat.completions.create({
      model: name,
      messages: [{ role: 'system', content: 'Be brief.' }, ...messages],
    });
    expect(answer.choices[0]!.message.content).toBe('Bonjour');
    expect(answer.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 3 });
    expect(provider.last.path).toBe('/v1/messages');
    expect(provider.last.headers).toMatchObject({
      'x-api-key': 'sk-of-the-provider',
      'anthropic-version': '2023-06-01',
    });
    expect(provider.last.headers).not.toHaveProperty('authorization');
    expect(provider.last.body).toMatchObject({ model: 'gpt-test', system: 'Be brief.' });
    provider.answer = messageStream(['Bon', 'jour']);
    expect(await textOf(await client.chat.completions.create({ model: name, messages, stream: true }))).toBe(
      'Bonjour',
    );
  });
});

describe('a model with several targets', () => {
  const fallback = async (more: object = {}): Promise<string> => {
    const ids = [
      await newProvider(admin, org.workspaceId, provider),
      await newProvider(admin, org.workspaceId, other),
    ];
    const name = `f-${Math.random().toString(36).slice(2)}`;
    const targets = ids.map((provider_id, at) => ({ provider_id, upstream_model: `up-${at}` }));
    await newModel(admin, org.workspaceId, { name, strategy: 'fallback', targets, ...more });
    return name;
  };

  it('falls back to the second provider if the first returns 500', async () => {
    provider.answer = (_call, response) => json(response, { error: { message: 'broken' } }, 500);
    other.answer = chatStream(['from', ' the second']);
    const stream = await client.chat.completions.create({ model: await fallback(), messages, stream: true });
    expect(await textOf(stream)).toBe('from the second');
    expect([provider.calls.length, other.calls.length]).toEqual([1, 1]);
    expect(other.last.body.model).toBe('up-1');
  });

  it('falls back if the first event is an error, or if the stream ends before it', async () => {
    const name = await fallback();
    other.answer = chatStream(['ok']);
    for (const first of [
      (response: ServerResponse) => send(response, { error: { message: 'overloaded' } }),
      () => undefined,
    ]) {
      provider.answer = (_call, response) => {
        begin(response);
        first(response);
        response.end();
      };
      expect(
        await textOf(await client.chat.completions.create({ model: name, messages, stream: true })),
      ).toBe('ok');
    }
  });

  it('returns an error, and calls no other provider, if the first one fails after its first byte', async () => {
    provider.answer = (_call, response) => {
      begin(response);
      send(response, contentChunk('half an '));
      setTimeout(() => response.destroy(), 20);
    };
    const stream = await client.chat.completions.create({ model: await fallback(), messages, stream: true });
    let text = '';
    await expect(
      (async () => {
        for await (const one of stream) text += one.choices[0]?.delta.content ?? '';
      })(),
    ).rejects.toThrow(/ended its response early/);
    expect(text).toBe('half an ');
    expect(other.calls).toEqual([]);
  });

  it.each([
    ['429', 429],
    ['503', 503],
    ['401', 401],
    ['404', 404],
  ])('falls back after %s', async (_, status) => {
    provider.answer = (_call, response) => json(response, { error: { message: 'no' } }, status);
    const answer = await client.chat.completions.create({ model: await fallback(), messages });
    expect(answer.choices[0]!.message.content).toBe('Hello');
  });

  it('falls back if the first provider cannot be reached, is too slow, or does not return JSON', async () => {
    const name = await fallback({ timeout_ms: 2_000 });
    provider.answer = () => undefined;
    expect(
      (await client.chat.completions.create({ model: name, messages })).choices[0]!.message.content,
    ).toBe('Hello');
    provider.answer = (_call, response) => void response.end('<html>');
    expect(
      (await client.chat.completions.create({ model: name, messages })).choices[0]!.message.content,
    ).toBe('Hello');
    provider.answer = (_call, response) => void response.destroy();
    expect(
      (await client.chat.completions.create({ model: name, messages })).choices[0]!.message.content,
    ).toBe('Hello');
  });

  it('does not call the second provider for a request that the first rejects as invalid', async () => {
    provider.answer = (_call, response) => json(response, { error: { message: 'bad temperature' } }, 400);
    const refused = await app
      .api(key)
      .post('/model/v1/chat/completions', { model: await fallback(), messages });
    expect([refused.status, refused.body.code]).toEqual([400, 'invalid_request']);
    expect(refused.body.error).toMatchObject({ type: 'invalid_request_error', code: 'invalid_request' });
    expect(refused.body.error.message).toContain('bad temperature');
    expect(other.calls).toEqual([]);
  });

  it('draws targets by weight', async () => {
    const ids = [
      await newProvider(admin, org.workspaceId, provider),
      await newProvider(admin, org.workspaceId, other),
    ];
    const name = `w-${Math.random().toString(36).slice(2)}`;
    const targets = ids.map((provider_id, at) => ({
      provider_id,
      upstream_model: 'up',
      weight: at === 0 ? 1 : 1000,
    }));
    await newModel(admin, org.workspaceId, { name, strategy: 'weighted', targets });
    for (let one = 0; one < 20; one++) await client.chat.completions.create({ model: name, messages });
    expect(other.calls.length).toBeGreaterThan(provider.calls.length);
    expect(provider.calls.length + other.calls.length).toBe(20);
  });
});

describe('a failing provider', () => {
  it('is retried after its Retry-After, as often as the model allows', async () => {
    let calls = 0;
    provider.answer = (call, response) =>
      ++calls < 3
        ? json(response, { error: { message: 'slow down' } }, 429, { 'retry-after-ms': '20' })
        : chat('at last')(call, response);
    const answer = await client.chat.completions.create({ model: await model({ retries: 2 }), messages });
    expect(answer.choices[0]!.message.content).toBe('at last');
    expect(calls).toBe(3);
  });

  it('causes 429 with Retry-After if no attempts are left', async () => {
    provider.answer = (_call, response) =>
      json(response, { error: { message: 'slow down' } }, 429, { 'retry-after': '30' });
    const refused = await app
      .api(key)
      .post('/model/v1/chat/completions', { model: await model({ retries: 2 }), messages });
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
      429,
      'rate_limited',
      '30',
    ]);
    expect(provider.calls).toHaveLength(1);
  });

  it.each([
    [401, 503, 'service_unavailable', 'false'],
    [403, 503, 'service_unavailable', 'false'],
    [404, 503, 'service_unavailable', 'false'],
    [500, 503, 'service_unavailable', null],
    [413, 413, 'payload_too_large', null],
    [422, 400, 'invalid_request', null],
  ])('returns %i, which causes %i %s with X-Should-Retry %s', async (status, expected, code, shouldRetry) => {
    provider.answer = (_call, response) =>
      json(response, { error: { message: 'sk-of-the-provider is wrong' } }, status);
    const refused = await app.api(key).post('/model/v1/chat/completions', { model: await model(), messages });
    expect([refused.status, refused.body.code]).toEqual([expected, code]);
    expect(refused.headers.get('x-should-retry')).toBe(shouldRetry);
    expect(JSON.stringify(refused.body)).not.toContain('sk-of-the-provider');
  });

  it('causes 429 that clients do not retry if its account has no credit', async () => {
    const error = { message: 'You exceeded your quota', code: 'insufficient_quota' };
    provider.answer = (_call, response) => json(response, { error }, 429);
    const retrying = new OpenAI({ baseURL: `${app.url}/model/v1`, apiKey: key });
    await expect(
      retrying.chat.completions.create({ model: await model({ retries: 2 }), messages }),
    ).rejects.toMatchObject({ status: 429, code: 'insufficient_quota' });
    expect(provider.calls).toHaveLength(1);
  });

  it('causes 504 if it is too slow, and its request is aborted', async () => {
    provider.answer = () => undefined;
    const late = await app
      .api(key)
      .post('/model/v1/chat/completions', { model: await model({ timeout_ms: 2_000 }), messages });
    expect([late.status, late.body.code]).toEqual([504, 'request_timeout']);
    await until(() => provider.aborted === 1);
  });

  it('causes 403 if its address is not public', async () => {
    const name = await modelOf(admin, org.workspaceId, 'http://10.0.0.1/v1');
    const refused = await app.api(key).post('/model/v1/chat/completions', { model: name, messages });
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
  });
});

it('reuses the connection of a stream, even if its end arrives after its last event', async () => {
  const name = await model();
  provider.answer = async (_call, response) => {
    begin(response);
    send(response, contentChunk('Hello'));
    response.write('data: [DONE]\n\n');
    await pause(5);
    response.end();
  };
  for (let one = 0; one < 5; one++) {
    await textOf(await client.chat.completions.create({ model: name, messages, stream: true }));
    await pause(50);
  }
  expect(provider.connections).toBe(1);
});

it('aborts the request to the provider at once if the client disconnects', async () => {
  provider.answer = (_call, response) => {
    begin(response);
    send(response, contentChunk('one'));
  };
  const controller = new AbortController();
  const stream = await client.chat.completions.create(
    { model: await model(), messages, stream: true },
    { signal: controller.signal },
  );
  await stream[Symbol.asyncIterator]().next();
  controller.abort();
  await until(() => provider.aborted === 1);
});

describe('a request', () => {
  it.each([
    ['invalid JSON', 'no json', 400],
    ['an array', '[]', 400],
    ['no model', '{"messages":[]}', 400],
    ['a model that is not a string', '{"model":1}', 400],
    ['a stream that is not a boolean', '{"model":"x","stream":"yes"}', 400],
    ['an unknown model', '{"model":"unknown"}', 404],
  ])('gets an error that clients understand for %s', async (_, body, status) => {
    const refused = await app
      .api(key)
      .post('/model/v1/chat/completions', body, { 'content-type': 'application/json' });
    expect(refused.status).toBe(status);
    expect(refused.body.error).toMatchObject({ message: refused.body.detail, type: 'invalid_request_error' });
  });

  it('gets 401 with an error that clients understand for an invalid key', async () => {
    const anonymous = new OpenAI({ baseURL: `${app.url}/model/v1`, apiKey: 'rsk_wrong', maxRetries: 0 });
    await expect(anonymous.chat.completions.create({ model: 'x', messages })).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
      type: 'authentication_error',
    });
  });

  it('gets 403 from a viewer, and 404 for a model of another organization', async () => {
    const name = await model();
    const viewer = await (
      await org.member('viewer')
    ).post('/model/v1/chat/completions', { model: name, messages });
    expect([viewer.status, viewer.body.code]).toEqual([403, 'access_denied']);
    const stranger = await (await newOrganization(app)).member('owner');
    expect((await stranger.post('/model/v1/chat/completions', { model: name, messages })).status).toBe(404);
    expect(provider.calls).toEqual([]);
  });
});
