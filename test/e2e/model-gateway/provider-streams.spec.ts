import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { sharedApp } from '#testing';
import { ClientsFixture, CLIENTS, STREAMING_CLIENTS } from './clients.fixture';
import { begin, chat, contentChunk, json, message, messageStream, send, USAGE } from './provider.fixture';

const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
let on: ClientsFixture;

beforeAll(async () => {
  on = await ClientsFixture.create(app);
});
beforeEach(() => on.listen());
afterEach(() => on.close());

const messages = [{ role: 'user' as const, content: 'Hi' }];

const finish = { ...contentChunk(''), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
const usage = { ...contentChunk(''), choices: [], usage: USAGE };
const prompt = { choices: [], prompt_filter_results: [{ prompt_index: 0 }] };
const end = (response: ServerResponse): void => void response.end();
const breakOff = (response: ServerResponse): void => void setTimeout(() => response.destroy(), 20);
const halt = (): void => undefined;

const CHAT_ENDS: [name: string, last: object[], end: (response: ServerResponse) => void][] = [
  ['its finish reason', [finish], end],
  ['its usage', [finish, usage], end],
  ['its finish reason and usage in one chunk', [{ ...finish, usage: USAGE }], end],
  ['a chunk with no finish reason after its usage', [finish, { ...contentChunk(''), usage: USAGE }], end],
  ['its finish reason, when the connection breaks', [finish], breakOff],
  ['its finish reason, and never closes the connection', [finish], halt],
  ['its finish reason, when the next event is cut off', [finish], (response) => response.end('data: {"id":')],
  ...['', '\n', '\r\n'].map((ending): (typeof CHAT_ENDS)[number] => [
    `an event that ends with ${JSON.stringify(ending)}`,
    [],
    (response) => response.end(`data: ${JSON.stringify(finish)}${ending}`),
  ]),
];

it.each(CHAT_ENDS)('a chat completion without [DONE] is complete after %s', async (_, last, close) => {
  on.provider.answer = (_call, response) => {
    begin(response);
    send(response, prompt);
    send(response, contentChunk('Hel'));
    response.write(': keep-alive\n\n');
    send(response, { type: 'ping' }, 'ping');
    for (const one of [contentChunk('lo'), ...last]) send(response, one);
    close(response);
  };
  const name = await on.single('openai', { timeout_ms: 300 });
  for (const client of STREAMING_CLIENTS)
    expect([client, await on.ask[client]!(name)]).toEqual([client, 'Hello']);
  const body = JSON.stringify({ model: name, messages, stream: true });
  const headers = { authorization: `Bearer ${on.key}`, 'content-type': 'application/json' };
  const url = `${app.url}/model/v1/chat/completions`;
  const text = await (await fetch(url, { method: 'POST', body, headers })).text();
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(await on.usageOf(name)).toMatchObject({ call_count: 4, failed_count: 0 });
});

it.each([
  ['has no finish reason', [contentChunk('Hel')]],
  ['has only an empty finish reason', [{ choices: [{ index: 0, delta: {}, finish_reason: '' }] }]],
  [
    'has the finish reason of one of its choices',
    [{ choices: [{ index: 1, delta: { content: 'x' } }] }, finish],
  ],
])('a chat completion without [DONE] has broken off if it %s', async (_, last) => {
  on.provider.answer = (_call, response) => {
    begin(response);
    for (const one of [contentChunk('Hel'), ...last]) send(response, one);
    response.end();
  };
  await expect(on.ask['openai, streamed']!(await on.single())).rejects.toThrow(/ended its response early/);
});

it('a chat completion with [DONE] is complete without a finish reason', async () => {
  on.provider.answer = (_call, response) => {
    begin(response);
    send(response, contentChunk('Hello'));
    response.end('data: [DONE]\n\n');
  };
  const name = await on.single();
  expect(await on.ask['openai, streamed']!(name)).toBe('Hello');
  const { stop_reason } = await on.anthropic.messages
    .stream({ model: name, messages, max_tokens: 100 })
    .finalMessage();
  expect(stop_reason).toBe('end_turn');
  expect(await on.usageOf(name)).toMatchObject({ call_count: 2, failed_count: 0 });
});

it.each(['', '\n', '\r\n'])('a response may end with an event that ends with %j', async (ending) => {
  on.provider.answer = (_call, response) => {
    const text = { type: 'output_text', text: 'Hello', annotations: [] };
    const output = [{ id: 'i', type: 'message', role: 'assistant', status: 'completed', content: [text] }];
    const completed = { id: 'resp_1', object: 'response', status: 'completed', output };
    begin(response);
    send(response, { type: 'response.created', response: { ...completed, output: [] } }, 'response.created');
    const data = JSON.stringify({ type: 'response.completed', response: completed });
    response.end(`event: response.completed\ndata: ${data}${ending}`);
  };
  const stream = await on.openai.responses.create({ model: await on.single(), input: 'Hi', stream: true });
  const types: string[] = [];
  for await (const one of stream) types.push(one.type);
  expect(types).toEqual(['response.created', 'response.completed']);
});

const stop = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } };

it.each([
  ['message_delta', [stop], end],
  ['message_delta, when the connection breaks', [stop], breakOff],
  ...['', '\n', '\r\n'].map((ending): [string, object[], (response: ServerResponse) => void] => [
    `a message_delta that ends with ${JSON.stringify(ending)}`,
    [],
    (response) => response.end(`event: message_delta\ndata: ${JSON.stringify(stop)}${ending}`),
  ]),
])('a message without message_stop is complete after %s', async (_, last, close) => {
  on.provider.answer = (_call, response) => {
    begin(response);
    send(response, { type: 'message_start', message: message([], { stop_reason: null }) }, 'message_start');
    const content_block = { type: 'text', text: '' };
    send(response, { type: 'content_block_start', index: 0, content_block }, 'content_block_start');
    const delta = { type: 'text_delta', text: 'Hello' };
    send(response, { type: 'content_block_delta', index: 0, delta }, 'content_block_delta');
    send(response, { type: 'content_block_stop', index: 0 }, 'content_block_stop');
    for (const one of last) send(response, one, 'message_delta');
    close(response);
  };
  const name = await on.single('anthropic');
  for (const client of STREAMING_CLIENTS)
    expect([client, await on.ask[client]!(name)]).toEqual([client, 'Hello']);
  const response = await on.openai.responses.stream({ model: name, input: 'Hi' }).finalResponse();
  expect(response.output_text).toBe('Hello');
});

it.each([
  ['openai', ': OPENROUTER PROCESSING\n\n'],
  ['anthropic', 'event: ping\ndata: {"type": "ping"}\n\n'],
] as const)('a provider of kind %s that sends %j may start its stream late', async (kind, sign) => {
  on.provider.answer = async (call, response) => {
    begin(response);
    for (let one = 0; one < 6; one++) {
      response.write(sign);
      await pause(250);
    }
    if (kind === 'openai') {
      for (const one of [contentChunk('Hello'), finish]) send(response, one);
      response.end();
    } else {
      // its head has been sent
      response.writeHead = () => response;
      await messageStream(['Hello'])(call, response);
    }
  };
  const name = await on.single(kind, { timeout_ms: 1_000 });
  const client = kind === 'openai' ? 'openai, streamed' : 'anthropic, streamed';
  expect(await on.ask[client]!(name)).toBe('Hello');
});

it.each(CLIENTS)('an unsolicited 100 Continue is ignored: %s', async (client) => {
  on.provider.answer = (call, response) => {
    response.writeContinue();
    return chat('Hello')(call, response);
  };
  expect(await on.ask[client]!(await on.single())).toBe('Hello');
});

it('embeds through the AI SDK', async () => {
  const embedding = { object: 'embedding', index: 0, embedding: [0.1, 0.2] };
  on.provider.answer = (_call, response) =>
    json(response, { object: 'list', data: [embedding], usage: USAGE });
  expect(await on.embedWithAiSdk(await on.single())).toEqual([0.1, 0.2]);
});
