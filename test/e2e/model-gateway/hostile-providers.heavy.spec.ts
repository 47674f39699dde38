import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { readEnvironment } from '#platform/config';
import { OutboundHttp } from '#platform/outbound';
import { type Answer, type ApiClient, ownApp, newOrganization, type TestOrganization, until } from '#testing';
import { pointersIn } from './gateway.fixture';
import {
  begin,
  chat,
  chatCompletion,
  contentChunk,
  FakeProvider,
  json,
  message,
  modelOf,
  send,
} from './provider.fixture';

const MIB = 1024 * 1024;
const BODY_LIMIT = 12 * MIB;
const COMPLETIONS = '/model/v1/chat/completions';
const SECRET = 'sk-of-the-provider';
const DEEP = '['.repeat(100_000) + ']'.repeat(100_000);
const messages = [{ role: 'user', content: 'Hi' }];

const app = ownApp({
  env: { OUTBOUND_ALLOW: '127.0.0.0/8', BODY_LIMIT_BYTES: String(BODY_LIMIT) },
});
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
afterEach(() => provider.close());

const model = (more: Record<string, unknown> = {}): Promise<string> =>
  modelOf(admin, org.workspaceId, provider, more);

/** Calls a model for a chat completion. */
const ask = (name: string, more: object = {}): Promise<Answer> =>
  app.api(key).post(COMPLETIONS, { model: name, messages, ...more });

/** Sends a body unchanged, and returns the status and the unparsed text of the response. */
async function sendRaw(
  path: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const answer = await fetch(app.url + path, {
    method: 'POST',
    body: body as never,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
  });
  return { status: answer.status, text: await answer.text() };
}

const streamed = (name: string, path = COMPLETIONS) =>
  sendRaw(path, JSON.stringify({ model: name, messages, stream: true, max_tokens: 9 }));

/** Writes until the connection is closed, with backpressure. Counts the bytes. */
function flood(response: ServerResponse, part: Buffer): { readonly bytes: number } {
  const sent = { bytes: 0 };
  const write = (): void => {
    while (!response.destroyed) {
      sent.bytes += part.length;
      if (!response.write(part)) return void response.once('drain', write);
    }
  };
  write();
  return sent;
}

/** Resolves when a response can be written again, or is closed. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });

/**
 * Returns the longest response time of a health check while other work runs, in milliseconds. The time in which the process
 * used no CPU does not count.
 */
async function slowestProbe(work: Promise<unknown>): Promise<number> {
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  let slowest = 0;
  while (!isDone) {
    const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
    expect((await fetch(`${app.url}/health/live`)).status).toBe(200);
    const { user, system } = process.cpuUsage(cpu);
    slowest = Math.max(slowest, Math.min(performance.now() - startedAt, (user + system) / 1_000));
    await pause(10);
  }
  await done;
  return slowest;
}

/** Runs a test with another resolver for the host of the provider's URL. */
async function withResolver(
  resolve: ConstructorParameters<typeof OutboundHttp>[1],
  test: (url: string) => Promise<void>,
): Promise<void> {
  const outbound = new OutboundHttp(readEnvironment(app.env).OUTBOUND_ALLOW, resolve);
  const spy = jest.spyOn(app.get(OutboundHttp), 'dispatcher', 'get').mockReturnValue(outbound.dispatcher);
  try {
    await test(provider.url.replace('127.0.0.1', 'models.example.com'));
  } finally {
    spy.mockRestore();
    await outbound.onApplicationShutdown();
  }
}

const usage = async (): Promise<any> =>
  (await admin.get(`/model/v1/usage?workspace_id=${org.workspaceId}`)).body.total;

const expectUnavailable = ({ status, body }: Answer, detail: RegExp): void => {
  expect([status, body.code]).toEqual([503, 'service_unavailable']);
  expect(body.detail).toMatch(detail);
};

describe('a provider response', () => {
  it('is read up to 64 MiB if it does not end', async () => {
    let sent = { bytes: 0 };
    provider.answer = (_call, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      sent = flood(response, Buffer.alloc(64 * 1024, ' '));
    };
    // not retried, because it would be as large again
    expectUnavailable(await ask(await model({ retries: 2 })), /returned more than 64 MiB/);
    await until(() => provider.aborted === 1);
    expect(sent.bytes).toBeLessThan(80 * MIB);
    expect(provider.calls).toHaveLength(1);
  });

  it.each([false, true])(
    'is read up to 64 KiB if it is an error that does not end (stream: %s)',
    async (stream) => {
      let sent = { bytes: 0 };
      provider.answer = (_call, response) => {
        response.writeHead(500, { 'content-type': 'application/json' });
        sent = flood(response, Buffer.alloc(64 * 1024, 'x'));
      };
      expectUnavailable(await ask(await model(), { stream }), /returned status 500/);
      // including the buffers of both sides
      expect(sent.bytes).toBeLessThan(16 * MIB);
      await until(() => provider.aborted === 1);
    },
  );

  it('is passed on with 100,000 levels, and causes no internal error if it must be translated', async () => {
    const text = `{"choices":[{"message":{"content":"Hi","extra":${DEEP}}}]}`;
    provider.answer = (_call, response) => void response.end(text);
    const body = (name: string): string => JSON.stringify({ model: name, messages });
    const own = await sendRaw(COMPLETIONS, body(await model({ capture_content: true })));
    expect([own.status, own.text === text]).toEqual([200, true]);
    const input = `{"content":[{"type":"tool_use","id":"1","name":"f","input":{"a":${DEEP}}}]}`;
    provider.answer = (_call, response) => void response.end(input);
    const translated = await sendRaw(COMPLETIONS, body(await model({ kind: 'anthropic' })));
    expect([200, 503]).toContain(translated.status);
    const called = chatCompletion({
      tool_calls: [{ id: '1', function: { name: 'f', arguments: `{"a":${DEEP}}` } }],
    });
    provider.answer = (_call, response) => json(response, called);
    const asMessage = await sendRaw('/model/v1/messages', body(await model()));
    expect([asMessage.status, asMessage.text]).toEqual([503, expect.stringContaining('nested too deeply')]);
    expect(await usage()).toMatchObject({ call_count: 3 });
  });

  it('keeps its __proto__ members, and changes no prototype', async () => {
    const text =
      '{"__proto__":{"polluted":1},"choices":[{"__proto__":{"polluted":1},"message":{"content":"Hi"}}],"usage":{"__proto__":{"prompt_tokens":5}}}';
    provider.answer = (_call, response) => void response.end(text);
    const { status, text: answered } = await sendRaw(
      COMPLETIONS,
      JSON.stringify({ model: await model(), messages }),
    );
    expect([status, answered]).toEqual([200, text]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('is rejected if its headers are over 16 KiB', async () => {
    provider.answer = (_call, response) => json(response, {}, 200, { 'x-long': 'x'.repeat(17 * 1024) });
    expectUnavailable(await ask(await model()), /returned too many bytes/);
  });

  it('is not followed if it redirects to a cloud metadata service', async () => {
    provider.answer = (_call, response) =>
      json(response, {}, 307, { location: 'http://169.254.169.254/latest/meta-data/' });
    expectUnavailable(await ask(await model()), /returned status 307/);
    expect(provider.calls).toHaveLength(1);
  });

  it('is not decoded if it is in gzip, which was not requested', async () => {
    const body = gzipSync(Buffer.alloc(10 * MIB, ' '));
    provider.answer = (_call, response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(body);
    expectUnavailable(await ask(await model()), /did not return a JSON object/);
  });

  it('is passed on at once if its Retry-After is a year', async () => {
    provider.answer = (_call, response) => json(response, {}, 429, { 'retry-after': '31536000' });
    const name = await model({ retries: 3 });
    const startedAt = performance.now();
    const answer = await ask(name);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '86400']);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(provider.calls).toHaveLength(1);
  });

  it.each([
    ['of 60 KiB', 60 * 1024],
    ['of 1 MiB', MIB],
  ])(
    'is shortened if it is an error %s that repeats the API key, and the key is removed',
    async (_, size) => {
      const reply = { error: { message: `${SECRET} is wrong ${'x'.repeat(size)}` } };
      provider.answer = (_call, response) => json(response, reply, 500);
      const answer = await ask(await model());
      expectUnavailable(answer, /returned status 500/);
      const text = JSON.stringify(answer.body);
      expect(text).not.toContain(SECRET);
      expect(text.length).toBeLessThan(5_000);
    },
  );

  it('causes 503 if it is an HTML page with status 200, plain and streamed', async () => {
    provider.answer = (_call, response) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
    const name = await model();
    expectUnavailable(await ask(name), /did not return a JSON object/);
    expectUnavailable(await ask(name, { stream: true }), /did not return an event stream/);
  });

  it('causes 503 if it ends after its headers', async () => {
    provider.answer = (_call, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.flushHeaders();
      setTimeout(() => response.destroy(), 20);
    };
    expectUnavailable(await ask(await model()), /closed the connection/);
  });

  it.each([
    ['negative', -5],
    ['huge', Number.MAX_SAFE_INTEGER],
    ['text', '12'],
    ['broken', 1.5],
  ])(
    'is counted with an estimate if its usage is %s, and later calls are still counted',
    async (_, tokens) => {
      const name = await model();
      provider.answer = chat('Hello', { prompt_tokens: tokens, completion_tokens: tokens });
      for (let call = 0; call < 3; call++) expect((await ask(name)).status).toBe(200);
      const { call_count, input_tokens, output_tokens } = await usage();
      expect(call_count).toBe(3);
      expect([input_tokens > 0, input_tokens < 1_000, output_tokens < 1_000]).toEqual([true, true, true]);
    },
  );

  it('is not requested from a host that has moved to a private address', async () => {
    const addresses = ['127.0.0.1', '10.0.0.1'];
    await withResolver(
      () => Promise.resolve([{ address: addresses.shift() ?? '10.0.0.1', family: 4 }]),
      async (moving) => {
        const name = await modelOf(admin, org.workspaceId, moving);
        provider.answer = (_call, response) =>
          json(response, chatCompletion({ content: 'Hi' }), 200, { connection: 'close' });
        expect((await ask(name)).status).toBe(200);
        const moved = await ask(name);
        expect([moved.status, moved.body.code]).toEqual([403, 'forbidden']);
      },
    );
  });

  it('causes 504 after timeout_ms if the name server of its host hangs, plain and streamed', async () => {
    let end: (error: Error) => void = () => undefined;
    const hanging = new Promise<never>((_resolve, reject) => (end = reject));
    hanging.catch(() => undefined);
    await withResolver(
      () => hanging,
      async (unresolved) => {
        const name = await modelOf(admin, org.workspaceId, unresolved, { timeout_ms: 1_000 });
        for (const call of [ask, streamed]) {
          const startedAt = performance.now();
          expect((await call(name)).status).toBe(504);
          // before the connect timeout
          expect(performance.now() - startedAt).toBeLessThan(9_000);
        }
        end(new Error('the test is over'));
      },
    );
  });

  it('causes 504 after timeout_ms if it arrives byte by byte without an end', async () => {
    provider.answer = (_call, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 50);
      response.on('close', () => clearInterval(timer));
    };
    expect((await ask(await model({ timeout_ms: 1_000 }))).status).toBe(504);
    await until(() => provider.aborted === 1);
  });
});

describe('a stream', () => {
  it('is passed on up to 64 MiB if an event does not end, or read up to 256 KiB if it must be translated', async () => {
    let sent = { bytes: 0 };
    provider.answer = (_call, response) => {
      begin(response);
      response.write('data: ');
      sent = flood(response, Buffer.alloc(64 * 1024, 'x'));
    };
    const { status, text } = await streamed(await model());
    expect([status, text.slice(-2_000)]).toEqual([200, expect.stringContaining('more than 64 MiB')]);
    await until(() => provider.aborted === 1);
    expect(sent.bytes).toBeLessThan(80 * MIB);
    const translated = await streamed(await model(), '/model/v1/messages');
    expect([translated.status, translated.text]).toEqual([503, expect.stringContaining('more than 256 KiB')]);
    await until(() => provider.aborted === 2);
    expect(sent.bytes).toBeLessThan(16 * MIB);
  });

  it('is not read from the provider while the client does not read it', async () => {
    let sent = { bytes: 0 };
    provider.answer = (_call, response) => {
      begin(response);
      sent = flood(response, Buffer.from(`data: ${JSON.stringify(contentChunk('x'.repeat(1_000)))}\n\n`));
    };
    const body = JSON.stringify({ model: await model(), messages, stream: true });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const request = http.request(app.url + COMPLETIONS, { method: 'POST', headers });
    request.on('error', () => undefined).end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    let last = -1;
    await until(async () => {
      const before = last;
      last = sent.bytes;
      await pause(300);
      return before === sent.bytes;
    });
    expect(sent.bytes).toBeLessThan(32 * MIB);
    request.destroy();
    await until(() => provider.aborted === 1);
    await until(async () => (await usage()).call_count === 1);
  });

  it('is read even if it has millions of comments, and the process stays responsive', async () => {
    provider.answer = async (_call, response) => {
      begin(response);
      const comments = Buffer.from(':\n\n'.repeat(20_000));
      for (let one = 0; one < 100; one++) if (!response.write(comments)) await drained(response);
      send(response, contentChunk('at last'));
      response.end('data: [DONE]\n\n');
    };
    const answering = streamed(await model());
    expect(await slowestProbe(answering)).toBeLessThan(2_000);
    const { status, text } = await answering;
    expect([status, text.includes('at last'), text.length < 1_000]).toEqual([200, true, true]);
  });

  it('is read up to 256 KiB if one comment has millions of lines', async () => {
    let sent = { bytes: 0 };
    provider.answer = (_call, response) => {
      begin(response);
      sent = flood(response, Buffer.from(':\n'.repeat(32 * 1024)));
    };
    expectUnavailable(await ask(await model(), { stream: true }), /more than 256 KiB/);
    expect(sent.bytes).toBeLessThan(16 * MIB);
  });

  it('causes 503 if its first event is not JSON, and ends with an error if a later one is not', async () => {
    const name = await model();
    provider.answer = (_call, response) => {
      begin(response);
      response.end('data: {"half\n\n');
    };
    expectUnavailable(await ask(name, { stream: true }), /not a JSON object/);
    provider.answer = (_call, response) => {
      begin(response);
      send(response, contentChunk('Hel'));
      response.end('data: [1]\n\n');
    };
    expect(await received(name)).toContain('not a JSON object');
  });

  it('never reveals the API key if its errors repeat it, at its start or later', async () => {
    const name = await model();
    const error = { type: `t-${SECRET}`, message: `${SECRET} is wrong ${'x'.repeat(60_000)}` };
    provider.answer = (_call, response) => {
      begin(response);
      send(response, { error });
      response.end();
    };
    const first = await ask(name, { stream: true });
    expectUnavailable(first, /did not start its response/);
    provider.answer = (_call, response) => json(response, { error });
    const plain = await ask(name, { stream: true });
    expectUnavailable(plain, /returned an error/);
    provider.answer = (_call, response) => {
      begin(response);
      send(response, contentChunk('Hel'));
      setTimeout(() => send(response, { error }), 50);
    };
    const later = await received(name);
    expect(later).toContain('ended its response early');
    for (const text of [JSON.stringify(first.body), JSON.stringify(plain.body), later]) {
      expect(text).not.toContain(SECRET);
      expect(text.length).toBeLessThan(5_000);
    }
  });

  it('ends with an error after timeout_ms without an event', async () => {
    provider.answer = (_call, response) => {
      begin(response);
      send(response, contentChunk('Hel'));
    };
    const startedAt = performance.now();
    const event = await received(await model({ timeout_ms: 2_000 }));
    expect(event).toContain('The gateway ended its response early');
    expect(event).toContain('"code":"request_timeout"');
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    await until(() => provider.aborted === 1);
    await until(async () => (await usage()).failed_count === 1);
  });

  describe('with two million tool call deltas', () => {
    const floodCalls = async (response: ServerResponse): Promise<void> => {
      begin(response);
      for (let event = 0; event < 2_000 && !response.destroyed; event++) {
        const tool_calls = Array.from({ length: 1_000 }, (_, at) => ({ index: event * 1_000 + at }));
        const text = JSON.stringify({ choices: [{ index: 0, delta: { tool_calls } }] });
        if (!response.write(`data: ${text}\n\n`)) await drained(response);
      }
      if (!response.destroyed) response.end('data: [DONE]\n\n');
    };

    it('is passed on in bounded memory, and the process stays responsive', async () => {
      provider.answer = (_call, response) => floodCalls(response);
      const before = process.memoryUsage().heapUsed;
      const answering = streamed(await model({ capture_content: true })).then(({ status, text }) => {
        expect([status, text.endsWith('data: [DONE]\n\n')]).toEqual([200, true]);
      });
      expect(await slowestProbe(answering)).toBeLessThan(2_000);
      // the test itself holds the text of the response, about 40 MB
      expect(process.memoryUsage().heapUsed - before).toBeLessThan(400 * MIB);
    }, 120_000);

    it('ends with an error if it must be translated', async () => {
      provider.answer = (_call, response) => floodCalls(response);
      const text = await received(await model(), '/model/v1/messages');
      expect(text).toContain('more than 1000 parts');
    }, 120_000);
  });

  /** Returns what a client receives until the connection is closed. */
  async function received(name: string, path = COMPLETIONS): Promise<string> {
    const body = JSON.stringify({ model: name, messages, stream: true, max_tokens: 9 });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const request = http.request(app.url + path, { method: 'POST', headers });
    request.on('error', () => undefined).end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    let text = '';
    response
      .setEncoding('utf8')
      .on('data', (chunk: string) => (text += chunk))
      .on('error', () => undefined);
    await new Promise((resolve) => response.on('close', resolve));
    return text;
  }
});

describe('a request', () => {
  it('returns 413 over BODY_LIMIT_BYTES', async () => {
    const body = JSON.stringify({
      model: 'x',
      messages: [{ role: 'user', content: 'x'.repeat(BODY_LIMIT) }],
    });
    const { status, text } = await sendRaw(COMPLETIONS, body);
    expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([413, 'payload_too_large']);
  });

  it('returns 413 if it is a gzip bomb', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB, ' '));
    const { status, text } = await sendRaw(COMPLETIONS, bomb, { 'content-encoding': 'gzip' });
    expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([
      413,
      'compressed_payload_too_large',
    ]);
    expect(provider.calls).toEqual([]);
  });

  it('is translated if it has 4 MiB of messages, and the process stays responsive', async () => {
    const name = await model({ kind: 'anthropic' });
    provider.answer = (_call, response) => json(response, message([{ type: 'text', text: 'Hi' }]));
    const many = Array.from({ length: 16_000 }, (_, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: `message ${at} ${'x'.repeat(220)}`,
    }));
    const body = JSON.stringify({ model: name, messages: many });
    expect(body.length).toBeGreaterThan(3.9 * MIB);
    const answering = sendRaw(COMPLETIONS, body);
    expect(await slowestProbe(answering)).toBeLessThan(2_000);
    expect((await answering).status).toBe(200);
  });

  it('returns 413 if it has 4 MiB of empty objects; tokens and a response of 60 MiB of objects are passed on', async () => {
    const name = await model();
    const empty = (bytes: number): string => `[${'{},'.repeat(bytes / 3)}{}]`;
    const answer = `{"data":${empty(60 * MIB)},"usage":{"prompt_tokens":3}}`;
    provider.answer = (_call, response) => void response.end(answer);
    const embed = (input: string) => sendRaw('/model/v1/embeddings', `{"model":"${name}","input":${input}}`);
    expect((await embed(empty(4 * MIB))).status).toBe(413);
    const answering = embed(`[${'100000,'.repeat(450_000)}1]`);
    expect(await slowestProbe(answering)).toBeLessThan(2_000);
    const { status, text } = await answering;
    expect([status, text === answer]).toEqual([200, true]);
    expect((await usage()).input_tokens).toBe(3);
  });

  it('is passed on with 40,000 levels, and returns 400 if it must be translated', async () => {
    const deep = '['.repeat(40_000) + ']'.repeat(40_000);
    const text = (name: string): string =>
      `{"model":"${name}","messages":[{"role":"tool","tool_call_id":"1","content":${deep}},{"role":"user","content":[null]}]}`;
    const own = await sendRaw(COMPLETIONS, text(await model({ capture_content: true })));
    expect(own.status).toBe(200);
    const translated = await sendRaw(COMPLETIONS, text(await model({ kind: 'anthropic' })));
    expect(translated.status).toBe(400);
    expect(await usage()).toMatchObject({ call_count: 2 });
  });

  it.each([
    ['a model name of 256 characters', { model: 'm'.repeat(256) }, '/model'],
    ['a stream that is a string', { model: 'm', stream: 'true' }, '/stream'],
  ])('returns 400 for %s', async (_, body, pointer) => {
    const answer = await app.api(key).post(COMPLETIONS, { messages, ...body });
    expect([answer.status, pointersIn(answer)]).toEqual([400, [pointer]]);
  });

  it('is not streamed if it is for embeddings, even with `stream`', async () => {
    const embeddings = { object: 'list', data: [{ index: 0, embedding: [1] }] };
    provider.answer = (_call, response) => json(response, embeddings);
    const body = { model: await model(), input: 'x', stream: true };
    const answer = await app.api(key).post('/model/v1/embeddings', body);
    expect([answer.status, answer.body]).toEqual([200, embeddings]);
  });

  it('returns 404 for an unknown model name of 255 characters', async () => {
    expect((await app.api(key).post(COMPLETIONS, { messages, model: 'm'.repeat(255) })).status).toBe(404);
  });
});
