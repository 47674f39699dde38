import type { ServerResponse } from 'node:http';
import { BodyBudgets, MEMORY_BUDGET } from '#platform/http';
import { ownApp, until } from '#testing';
import { type InternalCall, InternalCalls } from '../../../src/model-gateway';
import { CallBudgets } from '../../../src/model-gateway/calls/call-budgets';
import { ClientsFixture } from './clients.fixture';
import { begin, chat, contentChunk, message, send, USAGE } from './provider.fixture';

const KIB = 1024;
const MIB = 1024 * KIB;
/** Half of the budget. */
const SHARE = 4 * MIB;
const app = ownApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8', MEMORY_BUDGET_BYTES: String(2 * SHARE) } });
let on: ClientsFixture;

beforeAll(async () => {
  on = await ClientsFixture.create(app);
});
beforeEach(() => on.listen());
afterEach(() => on.close());

const messages = [{ role: 'user' as const, content: 'Hi' }];
const PATHS = { chat: 'chat/completions', messages: 'messages', responses: 'responses' } as const;
type Format = keyof typeof PATHS;

/** Streams an answer, and returns its status and text. */
async function streamed(format: Format, model: string): Promise<{ status: number; text: string }> {
  const own = format === 'responses' ? { input: 'Hi' } : { messages, max_tokens: 9 };
  const response = await fetch(`${app.url}/model/v1/${PATHS[format]}`, {
    method: 'POST',
    body: JSON.stringify({ model, stream: true, ...own }),
    headers: { authorization: `Bearer ${on.key}`, 'content-type': 'application/json' },
  });
  return { status: response.status, text: await response.text() };
}

const internalCall = (model: string): InternalCall => ({
  model,
  format: 'chat',
  body: JSON.stringify({ model: 'm', messages }),
  principalId: 'judges',
  timeoutMs: 10_000,
  maxBytes: MIB,
  signal: new AbortController().signal,
});

const memory = () => app.get(BodyBudgets).of(MEMORY_BUDGET);
const calls = (index: number, text: string): object => ({
  choices: [
    {
      index: 0,
      delta: { tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: text } }] },
    },
  ],
});

/** Sends two calls. The second one waits, because the first one is not complete. */
const sendCalls = (response: ServerResponse, bytes: number): void => {
  begin(response);
  send(response, calls(0, '{"a":"'));
  for (let sent = 0; sent < bytes; sent += 64 * KIB) send(response, calls(1, 'x'.repeat(64 * KIB)));
};

const DEEP = '['.repeat(30_000) + ']'.repeat(30_000);
const LARGE = JSON.stringify('x'.repeat(MIB));
const finish =
  '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}';

describe('a large or deep event', () => {
  const completed = (content: string): string =>
    `{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"content":[${content}]}],"usage":{"input_tokens":10,"output_tokens":5}}}`;
  const stop =
    '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":10,"output_tokens":5}}';
  const delta = (text: string): string =>
    `{"type":"content_block_delta","index":0,"delta":{"type":"x","text":${text}}}`;

  it.each([
    [
      'chat',
      'openai',
      LARGE,
      (value: string) => [`{"choices":[{"delta":{"content":${value}}}]}`, finish, '[DONE]'],
    ],
    [
      'chat',
      'openai',
      DEEP,
      (value: string) => [`{"choices":[{"delta":{"content":${value}}}]}`, finish, '[DONE]'],
    ],
    ['responses', 'openai', LARGE, (value: string) => ['{"type":"response.created"}', completed(value)]],
    ['responses', 'openai', DEEP, (value: string) => ['{"type":"response.created"}', completed(value)]],
    ['messages', 'anthropic', LARGE, (value: string) => [delta(value), stop, '{"type":"message_stop"}']],
    ['messages', 'anthropic', DEEP, (value: string) => [delta(value), stop, '{"type":"message_stop"}']],
  ] as const)(
    'of the format %s of the client is passed on unchanged by %s, with its usage',
    async (format, kind, value, dataOf) => {
      const sent = dataOf(value)
        .map((data) => `data: ${data}\n\n`)
        .join('');
      on.provider.answer = (_call, response) => {
        begin(response);
        response.end(sent);
      };
      const name = await on.single(kind, { capture_content: true });
      const { status, text } = await streamed(format, name);
      expect([status, text === sent]).toEqual([200, true]);
      expect(await on.usageOf(name)).toMatchObject({
        call_count: 1,
        failed_count: 0,
        input_tokens: 10,
        output_tokens: 5,
      });
    },
  );

  it.each([
    ['large', LARGE, /An event of the stream has more than 256 KiB/],
    ['deep', DEEP, /An event of the stream has more than 20,000 values or 64 levels/],
  ])('ends a stream that must be translated, if it is %s', async (_, value, expected) => {
    on.provider.answer = ({ path }, response) => {
      begin(response);
      if (path.endsWith('messages')) {
        send(response, { type: 'message_start', message: message([]) });
        response.write(`data: ${delta(value)}\n\n`);
      } else {
        send(response, contentChunk('Hi'));
        response.write(`data: {"choices":[{"delta":{"content":${value}}}]}\n\n`);
      }
    };
    for (const [format, kind] of [
      ['messages', 'openai'],
      ['chat', 'anthropic'],
      ['responses', 'anthropic'],
    ] as const) {
      const name = await on.single(kind);
      const { status, text } = await streamed(format, name);
      expect([status, text]).toEqual([200, expect.stringMatching(/"error"/)]);
      expect(text).toMatch(expected);
      expect(await on.usageOf(name)).toMatchObject({ call_count: 1, failed_count: 1 });
    }
  });

  it('causes 503 if it is the first event of a translated stream', async () => {
    on.provider.answer = (_call, response) => {
      begin(response);
      response.write(`data: ${'x'.repeat(300 * KIB)}`);
    };
    const { status, text } = await streamed('messages', await on.single());
    expect([status, text]).toEqual([
      503,
      expect.stringMatching(/An event of the stream has more than 256 KiB/),
    ]);
  });

  it('counts as a failure of the call if it reports an error', async () => {
    on.provider.answer = (_call, response) => {
      begin(response);
      send(response, { type: 'response.created' });
      const error = { message: 'full', code: 'server_error' };
      const response_ = { status: 'failed', instructions: 'x'.repeat(MIB), error };
      send(response, { type: 'response.failed', response: response_ });
    };
    const name = await on.single();
    const { text } = await streamed('responses', name);
    expect(text.length).toBeGreaterThan(MIB);
    expect(await on.usageOf(name)).toMatchObject({ call_count: 1, failed_count: 1 });
  });
});

describe('a translated stream', () => {
  it.each([
    [
      'arguments of a call',
      (response: ServerResponse) => sendCalls(response, 2 * MIB),
      /The arguments of a tool call have more than 1 MiB/,
    ],
    [
      'tool calls',
      (response: ServerResponse) => {
        begin(response);
        for (let index = 0; index < 10_000; index++) send(response, calls(index, '{}'));
      },
      /more than 1000 parts/,
    ],
  ])('cannot have endless %s', async (_, answer, expected) => {
    on.provider.answer = (_call, response) => answer(response);
    expect((await streamed('messages', await on.single())).text).toMatch(expected);
  });

  it('is complete if its tool calls are interleaved', async () => {
    on.provider.answer = (_call, response) => {
      sendCalls(response, 512 * KIB);
      send(response, calls(0, '"}'));
      response.end(`data: ${finish}\n\ndata: [DONE]\n\n`);
    };
    const { content, stop_reason } = await on.anthropic.messages
      .stream({ model: await on.single(), messages, max_tokens: 9 })
      .on('error', () => undefined)
      .finalMessage()
      .catch(() => ({ content: [], stop_reason: 'x' }));
    expect([content, stop_reason]).toEqual([[], 'x']); // the second call has no JSON
    const { text } = await streamed('messages', await on.single());
    expect(text).toContain('event: message_stop');
    expect(text).toContain(`"partial_json":"${'x'.repeat(512 * KIB)}"`);
  });
});

describe('the memory of an organization', () => {
  it.each(['messages', 'chat', 'responses'] as const)(
    'counts what a stream for a client of %s keeps, and ends the stream if it is used up',
    async (format) => {
      let end: (() => unknown) | undefined;
      on.provider.answer = ({ path }, response) => {
        end = () => response.destroy();
        if (!path.endsWith('messages')) return sendCalls(response, 900 * KIB);
        begin(response);
        send(response, { type: 'message_start', message: message([]) });
        send(response, { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
        const text = 'x'.repeat(64 * KIB);
        for (let sent = 0; sent < 900 * KIB; sent += text.length) {
          send(response, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
        }
      };
      const kind = format === 'messages' ? 'openai' : 'anthropic';
      // what a chat completion keeps is the text of its span
      const name = await on.single(kind, { capture_content: true });
      const open = streamed(format, name);
      await until(() => memory().usedBy(on.org.orgId) > 512 * KIB);
      end!();
      expect((await open).text).toContain('The connection broke');
      await until(() => memory().usedBy(on.org.orgId) === 0);
      const others = memory().acquire(on.org.orgId, SHARE - 450 * KIB);
      try {
        const { text } = await streamed(format, name);
        expect(text).toContain('overloaded_error');
        expect(text).toContain('processing too many large bodies');
        expect(await on.usageOf(name)).toMatchObject({ call_count: 2, failed_count: 2 });
      } finally {
        others.release();
      }
      await until(() => memory().usedBy(on.org.orgId) === 0);
    },
  );

  it('counts the last event of a translated stream, which repeats the whole answer', async () => {
    on.provider.answer = (_call, response) => {
      begin(response);
      send(response, { type: 'message_start', message: message([]) });
      // JSON takes six bytes for each of these characters
      const partial_json = '\u0001'.repeat(25 * KIB);
      for (let index = 0; index < 10; index++) {
        const content_block = { type: 'tool_use', id: `c${index}`, name: 'f' };
        send(response, { type: 'content_block_start', index, content_block });
        for (const part of ['{"a":"', partial_json, partial_json, '"}']) {
          const delta = { type: 'input_json_delta', partial_json: part };
          send(response, { type: 'content_block_delta', index, delta });
        }
      }
      send(response, {
        ...{ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
      });
      send(response, { type: 'message_stop' });
      response.end();
    };
    const name = await on.single('anthropic');
    const others = memory().acquire(on.org.orgId, SHARE - 3 * MIB);
    try {
      const { text } = await streamed('responses', name);
      expect(text.match(/^event: response.output_item.done$/gm)).toHaveLength(10);
      expect(text).not.toContain('response.completed');
      expect(text).toContain('overloaded_error');
    } finally {
      others.release();
    }
    const { text } = await streamed('responses', name);
    expect(text).toContain('event: response.completed');
    expect(await on.usageOf(name)).toMatchObject({ call_count: 2, failed_count: 1 });
  });

  it('is needed before a call of the service itself reserves its cost', async () => {
    const { body } = await on.admin.get(`/model/v1/models/${await on.single()}`);
    const reserved = jest.spyOn(app.get(CallBudgets), 'allow');
    const others = memory().acquire(on.org.orgId, SHARE + 1);
    try {
      await expect(app.get(InternalCalls).call(internalCall(body.model_id))).rejects.toThrow(
        'processing too many large bodies',
      );
      expect(reserved).not.toHaveBeenCalled();
    } finally {
      others.release();
      reserved.mockRestore();
    }
  });

  it('counts answers of calls of the service itself', async () => {
    on.provider.answer = chat('x'.repeat(900 * KIB));
    const { body } = await on.admin.get(`/model/v1/models/${await on.single()}`);
    const call = internalCall(body.model_id);
    const others = memory().acquire(on.org.orgId, SHARE - 450 * KIB);
    try {
      await expect(app.get(InternalCalls).call(call)).rejects.toThrow('processing too many large bodies');
    } finally {
      others.release();
    }
    await expect(app.get(InternalCalls).call(call)).resolves.toMatchObject({ value: { usage: USAGE } });
    expect(memory().usedBy(on.org.orgId)).toBe(0);
  });
});
