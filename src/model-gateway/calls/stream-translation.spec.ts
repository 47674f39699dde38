import { type SseEvent, SseReader } from '../formats/sse';
import { StreamFailure } from '../formats/stream-failure';
import { type StreamRequest, type StreamTranslation, streamTranslationOf } from './stream-translation';

const MIB = 1024 * 1024;
const REQUEST: StreamRequest = {
  format: 'chat',
  kind: 'openai',
  includesUsage: false,
  keepsContent: true,
};
const SHAPES = [
  ['an untranslated chat completion', {}],
  ['a chat completion as a message', { format: 'messages' }],
  ['an untranslated response', { format: 'responses' }],
  ['an untranslated message', { format: 'messages', kind: 'anthropic' }],
  ['a message as a chat completion', { kind: 'anthropic' }],
  [
    'a message as a response',
    { format: 'responses', kind: 'anthropic', echo: { members: {}, heldBytes: 0 } },
  ],
] as const satisfies readonly [string, Partial<StreamRequest>][];

const shapeOf = (more: Partial<StreamRequest>): StreamTranslation =>
  streamTranslationOf({ ...REQUEST, ...more });

/** Pushes events with these JSON texts. @returns the bytes for the client */
const pushed = (shape: StreamTranslation, ...texts: string[]): string =>
  texts
    .flatMap((text) => new SseReader({ maxEventBytes: MIB }).push(Buffer.from(`data: ${text}\n\n`)))
    .map((event) => shape.push(event as SseEvent).toString())
    .join('');

const delta = (members: object, more: object = {}): string =>
  JSON.stringify({ id: 'c', model: 'u', choices: [{ index: 0, delta: members, ...more }] });

describe.each(SHAPES)('%s', (_, more) => {
  it.each(['not JSON', '[]', 'null', '7', '"text"', '{"a":', ''])('rejects the event %j', (text) => {
    expect(() => pushed(shapeOf(more), text)).toThrow(StreamFailure);
  });

  it.each([
    ['members of wrong types', { id: 1, model: {}, choices: 'x', delta: 7, usage: [], type: {} }],
    ['nulls', { id: null, choices: [null], delta: null, usage: null, message: null, type: null }],
    ['deltas of wrong types', { choices: [{ delta: { content: {}, tool_calls: [null, 7, {}] } }] }],
    ['an unknown type', { type: 'ping', content: 'x' }],
    ['usage that is not a count', { usage: { prompt_tokens: -1, output_tokens: 1e300, input_tokens: '9' } }],
  ])('accepts %s, and counts nothing', (_name, event) => {
    const shape = shapeOf(more);
    pushed(shape, JSON.stringify(event));
    const { usage, text } = shape.facts;
    expect([usage.inputTokens, usage.outputTokens, text]).toEqual([null, null, '']);
  });

  it('treats __proto__ as an ordinary member', () => {
    const shape = shapeOf(more);
    const text = '{"input_tokens":9,"prompt_tokens":9,"output_tokens":9}';
    pushed(
      shape,
      `{"type":"message_start","message":{"__proto__":{"id":"x"},"usage":{"__proto__":${text}}}}`,
      `{"type":"message_delta","delta":{"__proto__":{"text":"x"}},"usage":{"__proto__":${text}}}`,
      `{"__proto__":{"choices":[{"delta":{"content":"x"}}],"usage":${text}}}`,
    );
    const { id, text: answered, usage } = shape.facts;
    expect([id === 'x', answered, usage.inputTokens]).toEqual([false, '', null]);
    expect(({} as { input_tokens?: unknown }).input_tokens).toBeUndefined();
  });

  it('keeps no more of an endless answer than a span contains', () => {
    const shape = shapeOf({ ...more, kind: 'openai', format: 'chat' });
    const text = 'x'.repeat(100_000);
    for (let one = 0; one < 20; one++) pushed(shape, delta({ content: text }));
    for (let index = 0; index < 20_000; index++) {
      pushed(shape, delta({ tool_calls: [{ index, id: 'i'.repeat(20), function: { name: 'n' } }] }));
    }
    const { text: storedText, toolCalls } = shape.facts;
    expect([shape.length, storedText.length]).toEqual([2_000_000, 256 * 1024]);
    expect(toolCalls.length).toBeLessThan(4_000);
  });
});

describe('the usage of a stream', () => {
  const usage = { prompt_tokens: 7, completion_tokens: 2 };
  const ended = delta({}, { finish_reason: 'stop' });
  const withUsage = (text: string): string => JSON.stringify({ ...(JSON.parse(text) as object), usage });
  const onlyUsage = JSON.stringify({ choices: [], usage });
  const early = { input_tokens: 7, output_tokens: 1 };
  const started = JSON.stringify({ type: 'message_start', message: { usage: early } });
  const stopped = (more: object): string =>
    JSON.stringify({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, ...more });
  const response = (type: string, more: object = {}): string =>
    JSON.stringify({ type, response: { id: 'r', usage: early, ...more } });
  const anthropic = { kind: 'anthropic' } as const;

  it.each<[boolean, string, Partial<StreamRequest>, string[]]>([
    [false, 'each chunk of a chat completion', {}, [withUsage(delta({ content: 'x' }))]],
    [false, 'a chunk before the last one', {}, [withUsage(delta({ content: 'x' })), ended]],
    [true, 'the last chunk', {}, [withUsage(ended)]],
    [true, 'the chunk after it', {}, [ended, onlyUsage]],
    [true, 'the chunk after it, for messages', { format: 'messages' }, [ended, onlyUsage]],
    [false, 'an earlier chunk, for messages', { format: 'messages' }, [withUsage(delta({ content: 'x' }))]],
    [false, 'the start of a message', anthropic, [started]],
    [false, 'the start of a message whose end has none', anthropic, [started, stopped({})]],
    [true, 'the end of a message', anthropic, [started, stopped({ usage: { output_tokens: 2 } })]],
    [
      ...[true, 'the end of a message, untranslated'],
      ...[{ ...anthropic, format: 'messages' }, [started, stopped({ usage: { output_tokens: 2 } })]],
    ] as [boolean, string, Partial<StreamRequest>, string[]],
    [false, 'the start of a response', { format: 'responses' }, [response('response.in_progress')]],
    [true, 'the end of a response', { format: 'responses' }, [response('response.completed')]],
    [
      ...[true, 'a failed response', { format: 'responses' }],
      [response('response.failed', { error: { code: 'server_error', message: 'x' } })],
    ] as [boolean, string, Partial<StreamRequest>, string[]],
  ])('is final: %s, from %s', (isFinal, _, more, events) => {
    const shape = shapeOf(more);
    pushed(shape, ...events);
    expect(shape.facts.isUsageFinal).toBe(isFinal);
  });
});

describe('an untranslated chat completion', () => {
  it('keeps the bytes of its events, and returns the last ones at the end', () => {
    const shape = shapeOf({});
    const text = delta({ content: 'Hi' });
    expect(pushed(shape, text)).toBe(`data: ${text}\n\n`);
    expect([pushed(shape, '[DONE]'), shape.isDone]).toEqual(['', true]);
    expect(shape.end().toString()).toBe('data: [DONE]\n\n');
    expect(shape.facts).toMatchObject({ id: 'c', model: 'u', text: 'Hi' });
  });

  it('includes the chunk with only the usage if the client requested it', () => {
    const usage = '{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}';
    for (const includesUsage of [false, true]) {
      const shape = shapeOf({ includesUsage });
      expect(pushed(shape, usage) !== '').toBe(includesUsage);
      expect(shape.facts.usage).toMatchObject({ inputTokens: 1, outputTokens: 2 });
    }
  });

  it('fails if an error is sent instead of a chunk', () => {
    const failed = (): string =>
      pushed(shapeOf({}), '{"error":{"message":"full","type":"overloaded_error"}}');
    expect(failed).toThrow(new StreamFailure('overloaded_error', 'full'));
  });
});

describe('a message', () => {
  const start = (index: number): string =>
    JSON.stringify({
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id: 't', name: 'n' },
    });

  it.each(['messages', 'chat'] as const)(
    'has its text, calls and usage in the facts for a client of %s',
    (format) => {
      const shape = shapeOf({ format, kind: 'anthropic' });
      pushed(
        shape,
        '{"type":"message_start","message":{"id":"m","model":"u","usage":{"input_tokens":3,"output_tokens":1}}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}',
        start(1),
        '{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}',
        '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}',
        '{"type":"message_stop"}',
      );
      expect(shape.isDone).toBe(true);
      expect(shape.facts).toMatchObject({
        ...{ id: 'm', model: 'u', finishReason: 'tool_calls', text: 'Hi' },
        toolCalls: [{ id: 't', type: 'function', function: { name: 'n', arguments: '{}' } }],
        usage: { inputTokens: 3, outputTokens: 5 },
      });
    },
  );

  it('cannot have endless open calls', () => {
    const shape = shapeOf({ format: 'messages', kind: 'anthropic' });
    const flood = (): void => {
      for (let index = 0; index <= 1_000; index++) pushed(shape, start(index));
    };
    expect(flood).toThrow(/more than 1000 tool calls/);
  });
});

describe('a translated answer', () => {
  const shape = (): StreamTranslation => shapeOf({ format: 'messages', keepsContent: false });

  it('cannot have endless parts', () => {
    const calls = Array.from({ length: 1_000 }, (_, at) => ({ id: `c${at}`, function: { name: 'n' } }));
    const flooded = shape();
    const flood = (): void => {
      for (let one = 0; one < 11; one++) {
        const named = calls.map((call) => ({ ...call, index: `${one} ${call.id}` }));
        pushed(flooded, delta({ tool_calls: named }));
      }
    };
    expect(flood).toThrow(/more than 1000 parts/);
  });

  it('cannot have endless text', () => {
    const flooded = shape();
    const content = 'x'.repeat(MIB / 4);
    const flood = (): void => {
      for (let one = 0; one < 5; one++) pushed(flooded, delta({ content }));
    };
    expect(flood).toThrow('A text of the answer has more than 1 MiB.');
  });

  it('cannot be finished if it breaks off', () => {
    const broken = shape();
    pushed(broken, delta({ content: 'half' }));
    expect(() => broken.finish()).toThrow(StreamFailure);
    expect(broken.length).toBe(4);
  });
});

describe('the memory of a stream', () => {
  const LONG = '中'.repeat(900);
  const PARTS = 50;
  const times = (eventOf: (n: number) => string): string[] =>
    Array.from({ length: PARTS }, (_, n) => eventOf(n));

  const blocks = times((n) =>
    JSON.stringify({
      type: 'content_block_start',
      index: LONG + n,
      content_block: { type: 'tool_use', id: 'c', name: 'f' },
    }),
  );
  const calls = times((n) => {
    const call = { index: LONG + n, id: LONG + n, function: { name: LONG + n, arguments: '{' } };
    return delta({ tool_calls: [call] });
  });
  const choices = times((n) => JSON.stringify({ choices: [{ index: LONG + n, delta: {} }] }));
  const names = Array.from({ length: 30 }, (_, n) => [LONG + n, 1] as const);
  const usage = JSON.stringify({ choices: [], usage: Object.fromEntries(names) });

  it.each<[string, string[], Partial<StreamRequest>, number]>([
    ['the indexes of open blocks', blocks, { format: 'messages', kind: 'anthropic' }, PARTS],
    ['the indexes of open blocks that are translated', blocks, { kind: 'anthropic' }, PARTS],
    ['indexes, ids and names of calls', calls, { format: 'messages' }, 3 * PARTS],
    ['the indexes of choices', choices, {}, PARTS],
    ['the names of counts', [usage, usage], { format: 'messages' }, names.length],
  ])('includes %s', (_, events, more, labels) => {
    const shape = shapeOf({ ...more, keepsContent: false });
    pushed(shape, ...events);
    // two bytes for each character
    expect(shape.heldBytes).toBeGreaterThan(2 * LONG.length * labels);
    expect(shape.heldBytes).toBeLessThan(4 * LONG.length * labels);
  });

  it('is free again after a block has ended', () => {
    const shape = shapeOf({ format: 'messages', kind: 'anthropic', keepsContent: false });
    pushed(
      shape,
      ...blocks,
      ...times((n) => JSON.stringify({ type: 'content_block_stop', index: LONG + n })),
    );
    expect(shape.heldBytes).toBeLessThan(2 * LONG.length);
  });
});
