import { Readable } from 'node:stream';
import type { Environment } from '#platform/config';
import type { Call } from './call.types';
import { ParsingTurns } from './parsing-turns';
import type { ProviderResponse } from './provider-client';
import { StreamReader } from './stream-reader';
import { streamTranslationOf } from './stream-translation';

afterEach(() => jest.restoreAllMocks());

/** Reads a stream of chat completions for a client of messages, with six minutes before each part. */
async function readSlowly(parts: readonly string[]): Promise<string> {
  let now = Date.now();
  jest.spyOn(Date, 'now').mockImplementation(() => now);
  const slow = function* (): Generator<Buffer> {
    for (const part of parts) {
      yield Buffer.from(`${part}\n\n`);
      now += 360_000;
    }
  };
  const response = {
    body: Object.assign(Readable.from(slow(), { highWaterMark: 1 }), { dump: () => Promise.resolve() }),
    sender: { name: 'p', apiKey: null },
    onActivity: () => undefined,
    release: () => undefined,
  } as unknown as ProviderResponse;
  const call = { caller: { orgId: 'o' }, signal: new AbortController().signal } as unknown as Call;
  const translation = streamTranslationOf({
    ...{ format: 'messages', kind: 'openai', includesUsage: false, request: '', keepsContent: false },
  });
  const environment = { GATEWAY_EVENT_LIMIT_BYTES: 1_000 } as Environment;
  const stream = new StreamReader(new ParsingTurns(), environment).read(call, response, translation);
  let text = '';
  for (;;) {
    const { value, done } = await stream.next();
    text += value.toString();
    if (done) return text;
  }
}

const START = 'data: {"choices":[{"delta":{"content":"Hi"}}]}';
const REASONING = 'data: {"choices":[{"delta":{"reasoning_content":"Hm"}}]}';
const FINISH = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}';

it('keeps a stream open while the model reasons, although nothing is sent to the client', async () => {
  const text = await readSlowly([START, REASONING, REASONING, REASONING, FINISH, 'data: [DONE]']);
  expect(text).toMatch(/event: message_stop\ndata: .*\n\n$/);
});

it('ends a stream that has no event for more than ten minutes, but comments', async () => {
  await expect(readSlowly([START, ': a', ': b', ': c', FINISH])).rejects.toThrow('No event arrived.');
});
