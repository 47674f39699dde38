import { sharedApp } from '#testing';
import { ClientsFixture, type Kind, STREAMING_CLIENTS } from './clients.fixture';
import {
  begin,
  chat,
  chatCompletion,
  contentChunk,
  json,
  message,
  messageStream,
  type ProviderAnswer,
  send,
} from './provider.fixture';

const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
let on: ClientsFixture;

beforeAll(async () => {
  on = await ClientsFixture.create(app);
});
beforeEach(() => on.listen());
afterEach(() => on.close());

const messages = [{ role: 'user' as const, content: 'Hi' }];

/** The message that each error has. */
const FULL = 'out of memory';
const failedChoice = { index: 0, message: { role: 'assistant', content: '' }, delta: { content: '' } };

const ERRORS: [kind: Kind, shape: object][] = [
  ['openai', { error: { message: FULL, type: 'server_error', code: null } }],
  ['openai', { error: FULL }],
  ['openai', { error: true, message: FULL }],
  ['openai', { error: FULL, error_type: 'overloaded' }],
  ['openai', { object: 'error', message: FULL, type: 'InternalServerError', param: null, code: 500 }],
  ['openai', { detail: FULL }],
  ['openai', { detail: [{ type: 'x', loc: ['body', 'messages', 0], msg: FULL }] }],
  ['openai', { type: 'error', error: { type: 'overloaded_error', message: FULL } }],
  ['openai', { id: 'c', choices: [], error: { message: FULL, code: 502 } }],
  ['openai', { choices: null, error: { message: FULL } }],
  ['openai', { choices: [{ ...failedChoice, finish_reason: 'error', error: { message: FULL, code: 502 } }] }],
  ['openai', { error: { message: FULL }, choices: [{ ...failedChoice, finish_reason: 'error' }] }],
  ['openai', { success: false, result: null, errors: [{ code: 3_040, message: FULL }] }],
  ['openai', { error: { message: FULL, type: 'invalid_request_error' } }],
  ['anthropic', { type: 'error', error: { type: 'overloaded_error', message: FULL } }],
  ['anthropic', { error: { message: FULL } }],
  ['anthropic', { detail: FULL }],
];

/** The ways in which a provider sends an error with status 200. A client requests a stream for the last two. */
const SENT: Record<string, (error: object) => ProviderAnswer> = {
  'the body': (error) => (_call, response) => json(response, error),
  'the body instead of a stream': (error) => (_call, response) => json(response, error),
  'the first event': (error) => (_call, response) => {
    begin(response);
    response.write(': keep-alive\n\nevent: ping\ndata: {"type":"ping"}\n\n');
    send(response, error, 'type' in error && error.type === 'error' ? 'error' : undefined);
    response.end('data: [DONE]\n\n');
  },
};

describe.each(ERRORS)('a provider of kind %s that reports the error %j with status 200', (kind, error) => {
  it('is replaced by the next target', async () => {
    const name = await on.fallback(kind);
    const text = 'the other';
    on.other.answer =
      kind === 'openai'
        ? chat(text)
        : (call, response) =>
            call.body.stream === true
              ? messageStream([text])(call, response)
              : json(response, message([{ type: 'text', text }]));
    const clients = kind === 'openai' ? ['openai', 'openai, streamed'] : ['anthropic', 'anthropic, streamed'];
    const [plain, streamed] = clients.map((client) => on.ask[client]!);
    for (const [way, answer] of Object.entries(SENT)) {
      on.provider.answer = answer(error);
      expect([way, await (way === 'the body' ? plain : streamed)!(name)]).toEqual([way, 'the other']);
    }
    expect(on.other.calls).toHaveLength(3);
  });

  it('has its message passed on if there is no other target', async () => {
    const name = await on.single(kind);
    for (const [way, answer] of Object.entries(SENT)) {
      on.provider.answer = answer(error);
      const body = { model: name, messages, stream: way !== 'the body' };
      const refused = await app.api(on.key).post('/model/v1/chat/completions', body);
      const isRequest = JSON.stringify(error).includes('invalid_request_error');
      expect([way, refused.status]).toEqual([way, isRequest ? 400 : 503]);
      expect(refused.body.error.message).toContain(FULL);
    }
  });
});

it.each([
  ['rate_limit_error', 429, 'rate_limited'],
  ['insufficient_quota', 429, 'insufficient_quota'],
  ['authentication_error', 503, 'service_unavailable'],
])('an error of the type %s with status 200 causes %i %s', async (type, status, code) => {
  on.provider.answer = (_call, response) =>
    json(response, { error: { type, message: `${FULL} of sk-of-the-provider` } });
  const body = { model: await on.single(), messages };
  const refused = await app.api(on.key).post('/model/v1/chat/completions', body);
  expect([refused.status, refused.body.error.code]).toEqual([status, code]);
  expect(JSON.stringify(refused.body)).not.toContain('sk-of-the-provider');
});

it('passes on the errors of embeddings and responses that have status 200', async () => {
  const name = await on.single();
  for (const error of [
    { error: { message: FULL } },
    { object: 'list', data: [], error: { message: FULL } },
    { detail: FULL },
  ]) {
    on.provider.answer = (_call, response) => json(response, error);
    await expect(on.openai.embeddings.create({ model: name, input: 'x' })).rejects.toThrow(FULL);
  }
  const failed = { id: 'r', object: 'response', status: 'failed', output: [], error: { message: FULL } };
  on.provider.answer = (_call, response) => json(response, failed);
  await expect(on.openai.responses.create({ model: name, input: 'x' })).rejects.toThrow(FULL);
  on.provider.answer = (_call, response) => {
    begin(response);
    send(response, { type: 'response.failed', response: failed }, 'response.failed');
    response.end();
  };
  await expect(on.openai.responses.create({ model: name, input: 'x', stream: true })).rejects.toThrow(FULL);
});

it.each([
  ['"error": null', { error: null }],
  ['an empty text', { error: '' }],
  ['no errors', { errors: [] }],
])('an answer with %s is no error', async (_, more) => {
  on.provider.answer = ({ body }, response) => {
    if (body.stream !== true) return json(response, { ...chatCompletion({ content: 'Hello' }), ...more });
    begin(response);
    send(response, { ...contentChunk('Hello'), ...more });
    send(response, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...more });
    response.end('data: [DONE]\n\n');
  };
  const name = await on.single();
  expect(await on.ask.openai!(name)).toBe('Hello');
  // the AI SDK rejects every chunk that has an `error`
  for (const client of ['openai, streamed', 'anthropic, streamed'])
    expect(await on.ask[client]!(name)).toBe('Hello');
});

it.each([
  ...ERRORS.filter(([kind]) => kind === 'openai').map(([, error]) => error),
  { type: 'error', message: FULL },
])('a stream ends with the error %j if it arrives after the first bytes', async (error) => {
  on.provider.answer = (_call, response) => {
    begin(response);
    send(response, contentChunk('Hel'));
    setTimeout(() => {
      send(response, error);
      response.end('data: [DONE]\n\n');
    }, 20);
  };
  const name = await on.single();
  for (const client of STREAMING_CLIENTS) await expect(on.ask[client]!(name)).rejects.toThrow(FULL);
});
