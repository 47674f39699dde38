import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';
import {
  begin,
  chat,
  chatStream,
  FakeProvider,
  json,
  message,
  messageStream,
  modelOf,
  send,
} from './provider.fixture';

const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
let org: TestOrganization;
let admin: ApiClient;
let key: string;
let openai: OpenAI;
let anthropic: Anthropic;
let provider: FakeProvider;

beforeAll(async () => {
  org = await newOrganization(app);
  admin = await org.member('admin');
  key = (await org.serviceAccount('runtime')).key;
  openai = new OpenAI({ baseURL: `${app.url}/model/v1`, apiKey: key, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: `${app.url}/model`, authToken: key, apiKey: null, maxRetries: 0 });
});
beforeEach(async () => {
  provider = await FakeProvider.listen();
});
afterEach(() => provider.close());

const model = (kind: 'openai' | 'anthropic'): Promise<string> =>
  modelOf(admin, org.workspaceId, provider, { kind });

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'upstream',
  output: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
    },
  ],
  usage: { input_tokens: 4, output_tokens: 2, total_tokens: 6 },
};

describe('responses', () => {
  it('come unchanged from a provider of the same format', async () => {
    provider.answer = (_call, response) => json(response, RESPONSE);
    const answer = await openai.responses.create({ model: await model('openai'), input: 'Hi', store: false });
    expect(answer.output_text).toBe('Hello');
    expect(provider.last.path).toBe('/v1/responses');
    expect(provider.last.body).toEqual({ model: 'gpt-test', input: 'Hi', store: false });
  });

  it('stream from a provider of the same format', async () => {
    provider.answer = (_call, response) => {
      begin(response);
      send(
        response,
        { type: 'response.created', response: { ...RESPONSE, status: 'in_progress' } },
        'response.created',
      );
      send(response, { type: 'response.output_text.delta', delta: 'Hel' }, 'response.output_text.delta');
      send(response, { type: 'response.output_text.delta', delta: 'lo' }, 'response.output_text.delta');
      send(response, { type: 'response.completed', response: RESPONSE }, 'response.completed');
      response.end();
    };
    const stream = await openai.responses.create({ model: await model('openai'), input: 'Hi', stream: true });
    let text = '';
    const types = [];
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === 'response.output_text.delta') text += event.delta;
    }
    expect(text).toBe('Hello');
    expect(types.at(-1)).toBe('response.completed');
  });

  it('come from a provider of kind anthropic, plain and streamed', async () => {
    const name = await model('anthropic');
    provider.answer = (_call, response) => json(response, message([{ type: 'text', text: 'Bonjour' }]));
    const answer = await openai.responses.create({ model: name, instructions: 'Be brief.', input: 'Hi' });
    expect(answer.output_text).toBe('Bonjour');
    expect(answer.usage).toMatchObject({ input_tokens: 10, output_tokens: 3 });
    expect(provider.last.path).toBe('/v1/messages');
    expect(provider.last.body).toMatchObject({ system: 'Be brief.' });
    provider.answer = messageStream(['Bon', 'jour']);
    let text = '';
    const stream = openai.responses.stream({ model: name, input: 'Hi' });
    for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta;
    expect(text).toBe('Bonjour');
    expect((await stream.finalResponse()).output_text).toBe('Bonjour');
  });

  it('cannot continue a stored response at a provider that stores none', async () => {
    await expect(
      openai.responses.create({
        model: await model('anthropic'),
        input: 'Hi',
        previous_response_id: 'resp_0',
      }),
    ).rejects.toMatchObject({ status: 400, code: 'invalid_request' });
    expect(provider.calls).toEqual([]);
  });

  it('end with an error if they break off', async () => {
    provider.answer = (_call, response) => {
      begin(response);
      send(response, { type: 'response.output_text.delta', delta: 'Hel' }, 'response.output_text.delta');
      response.end();
    };
    const stream = await openai.responses.create({ model: await model('openai'), input: 'Hi', stream: true });
    await expect(
      (async () => {
        for await (const event of stream) expect(event.type).toBeTruthy();
      })(),
    ).rejects.toThrow(/ended its response early/);
  });
});

describe("Anthropic's client", () => {
  const ask = { max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hi' }] };

  it('gets an unchanged message from a provider of kind anthropic', async () => {
    provider.answer = (_call, response) => json(response, message([{ type: 'text', text: 'Bonjour' }]));
    const answer = await anthropic.messages.create({ model: await model('anthropic'), ...ask });
    expect(answer.content).toEqual([{ type: 'text', text: 'Bonjour' }]);
    expect(provider.last.path).toBe('/v1/messages');
    expect(provider.last.headers['x-api-key']).toBe('sk-of-the-provider');
    expect(provider.last.headers['anthropic-version']).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(JSON.stringify(provider.last.headers)).not.toContain('rsk_');
  });

  it('may send its key as x-api-key, which works nowhere else', async () => {
    const named = await model('openai');
    const withKey = (apiKey: string) =>
      new Anthropic({ baseURL: `${app.url}/model`, apiKey, maxRetries: 0 }).messages.create({
        model: named,
        ...ask,
      });
    expect((await withKey(key)).content).toMatchObject([{ text: 'Hello' }]);
    await expect(withKey('rsk_wrong')).rejects.toMatchObject({
      status: 401,
      error: { type: 'error', error: { type: 'authentication_error' } },
    });
    const chat = { model: named, ...ask };
    const headers = { 'x-api-key': key };
    expect((await app.api().post('/model/v1/chat/completions', chat, headers)).status).toBe(401);
    expect((await app.api().get('/model/v1/models', headers)).status).toBe(401);
  });

  it('streams from a provider of kind anthropic', async () => {
    provider.answer = messageStream(['Bon', 'jour']);
    const stream = anthropic.messages.stream({ model: await model('anthropic'), ...ask });
    expect(await stream.finalText()).toBe('Bonjour');
  });

  it('gets a message, a stream and tool calls from a provider of kind openai', async () => {
    const name = await model('openai');
    provider.answer = chat('Hello');
    const answer = await anthropic.messages.create({ model: name, system: 'Be brief.', ...ask });
    expect(answer).toMatchObject({
      type: 'message',
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: 'Hello' }],
    });
    expect(answer.usage).toMatchObject({ input_tokens: 10, output_tokens: 5 });
    expect(provider.last.path).toBe('/v1/chat/completions');
    expect(provider.last.headers).not.toHaveProperty('x-api-key');
    expect(provider.last.body.messages[0]).toMatchObject({ role: 'system', content: 'Be brief.' });
    provider.answer = chatStream(['Hel', 'lo']);
    expect(await anthropic.messages.stream({ model: name, ...ask }).finalText()).toBe('Hello');
    provider.answer = (_call, response) =>
      json(response, {
        choices: [
          {
            message: {
              role: 'assistant',
              tool_calls: [
                { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
              ],
            },
            finish_reason: 'tool_calls',
          },
        ],
      });
    const called = await anthropic.messages.create({
      model: name,
      ...ask,
      tools: [{ name: 'weather', input_schema: { type: 'object', properties: {} } }],
    });
    expect(called.stop_reason).toBe('tool_use');
    expect(called.content).toMatchObject([{ type: 'tool_use', name: 'weather', input: { city: 'Paris' } }]);
  });

  it('can send an image, which the provider gets in its own format', async () => {
    provider.answer = chat('A cat');
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: 'AAAA' };
    await anthropic.messages.create({
      model: await model('openai'),
      max_tokens: 10,
      messages: [{ role: 'user', content: [{ type: 'image', source }] }],
    });
    expect(JSON.stringify(provider.last.body)).toContain('data:image/png;base64,AAAA');
  });

  it('understands errors, even within a stream', async () => {
    await expect(anthropic.messages.create({ model: 'unknown', ...ask })).rejects.toMatchObject({
      status: 404,
      error: { type: 'error', error: { type: 'not_found_error' } },
    });
    provider.answer = (_call, response) => {
      begin(response);
      send(response, { type: 'message_start', message: message([]) }, 'message_start');
      send(response, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 'error');
      response.end();
    };
    await expect(
      anthropic.messages.stream({ model: await model('anthropic'), ...ask }).finalMessage(),
    ).rejects.toThrow(/Overloaded/);
  });
});

describe('embeddings', () => {
  it('come from a provider of kind openai', async () => {
    provider.answer = (_call, response) =>
      json(response, {
        object: 'list',
        data: [{ object: 'embedding', index: 0, embedding: [0.1, 0.2] }],
        model: 'e',
        usage: { prompt_tokens: 3, total_tokens: 3 },
      });
    const answer = await openai.embeddings.create({
      model: await model('openai'),
      input: 'text',
      encoding_format: 'float',
    });
    expect(answer.data[0]!.embedding).toEqual([0.1, 0.2]);
    expect(provider.last.path).toBe('/v1/embeddings');
  });

  it('do not come from a provider of kind anthropic', async () => {
    await expect(
      openai.embeddings.create({ model: await model('anthropic'), input: 'text' }),
    ).rejects.toMatchObject({
      status: 400,
      code: 'invalid_request',
    });
  });
});

it('passes on large requests and responses in both formats', async () => {
  const text = 'x'.repeat(1024 * 1024);
  provider.answer = chat(text);
  const messages = [{ role: 'user' as const, content: text }];
  const plain = await openai.chat.completions.create({ model: await model('openai'), messages });
  expect(plain.choices[0]!.message.content).toBe(text);
  expect(provider.last.body.messages).toEqual(messages);
  provider.answer = (_call, response) => json(response, message([{ type: 'text', text }]));
  const translated = await openai.chat.completions.create({ model: await model('anthropic'), messages });
  expect(translated.choices[0]!.message.content).toBe(text);
});
