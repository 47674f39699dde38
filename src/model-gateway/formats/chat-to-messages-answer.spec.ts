import fc from 'fast-check';
import { toMessagesAnswer } from './chat-to-messages-answer';
import { MessageEvents } from './message-events';

const chunk = (delta: unknown, finish_reason: string | null = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-x',
  choices: [{ index: 0, delta, finish_reason }],
});
const usage = { prompt_tokens: 120, completion_tokens: 15, prompt_tokens_details: { cached_tokens: 100 } };
const usageChunk = { ...chunk({}), choices: [], usage };
const call = (index: number, members: Record<string, unknown>) =>
  chunk({ tool_calls: [{ index, ...members }] });
const named = (index: number, id: string, name: string, text = '') =>
  call(index, { id, type: 'function', function: { name, arguments: text } });
const more = (index: number, text: string) => call(index, { function: { arguments: text } });

const eventsOf = (...chunks: any[]) => {
  const events = new MessageEvents();
  return [...chunks.flatMap((one) => events.push(one)), ...events.close(), ...events.end()] as {
    event: string;
    data: any;
  }[];
};

/** Returns the content as Anthropic's client assembles it. Fails if blocks are out of order. */
function contentOf(events: { event: string; data: any }[]) {
  const content: any[] = [];
  let open = -1;
  for (const { event, data } of events) {
    expect(data.type).toBe(event);
    if (event === 'content_block_start') {
      expect([open, data.index]).toEqual([-1, content.length]);
      open = data.index;
      content.push({ ...data.content_block, json: '' });
    } else if (event === 'content_block_delta') {
      expect(data.index).toBe(open);
      content[open].text += data.delta.text ?? '';
      content[open].json += data.delta.partial_json ?? '';
    } else if (event === 'content_block_stop') {
      expect(data.index).toBe(open);
      open = -1;
    }
  }
  expect(open).toBe(-1);
  return content.map((block) => (block.type === 'text' ? block.text : [block.id, block.name, block.json]));
}

describe('toMessagesAnswer', () => {
  it('translates text, calls and usage', () => {
    const look = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"moon"}' } };
    const cut = { id: 'call_2', type: 'function', function: { name: 'go', arguments: '{"to":' } };
    expect(
      toMessagesAnswer({
        id: 'chatcmpl-1',
        model: 'gpt-x',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'I look.', refusal: null, tool_calls: [look, cut] },
            finish_reason: 'tool_calls',
          },
        ],
        usage,
      }),
    ).toEqual({
      id: 'chatcmpl-1',
      type: 'message',
      role: 'assistant',
      model: 'gpt-x',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'call_1', name: 'look', input: { at: 'moon' } },
        { type: 'tool_use', id: 'call_2', name: 'go', input: { INVALID_JSON: '{"to":' } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 20,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 100,
        output_tokens: 15,
      },
    });
  });

  it('translates the reason why the model stopped', () => {
    const reason = (finish_reason: unknown, message = {}) =>
      toMessagesAnswer({ choices: [{ finish_reason, message }] }).stop_reason;
    expect(['stop', 'length', 'tool_calls', 'content_filter', 'x', null].map((one) => reason(one))).toEqual([
      'end_turn',
      'max_tokens',
      'tool_use',
      'refusal',
      'end_turn',
      'end_turn',
    ]);
    expect(reason('stop', { tool_calls: [{ id: 'a', function: { name: 'f' } }] })).toBe('tool_use');
    expect(reason('stop', { refusal: 'No.' })).toBe('refusal');
  });

  it('returns a refusal as text, and reads content in parts', () => {
    const content = (message: unknown) => toMessagesAnswer({ choices: [{ message }] }).content;
    expect(content({ content: null, refusal: 'No.' })).toEqual([{ type: 'text', text: 'No.' }]);
    expect(
      content({
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      }),
    ).toEqual([{ type: 'text', text: 'ab' }]);
    expect(content({ content: '' })).toEqual([]);
  });

  it('accepts anything that a provider sends', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const message = { content: one, tool_calls: [{ id: one, function: other }, other], refusal: other };
        expect(toMessagesAnswer({ choices: one, usage: other }).type).toBe('message');
        expect(toMessagesAnswer({ choices: [{ message, finish_reason: one }], id: other }).type).toBe(
          'message',
        );
      }),
    );
  });
});

describe('MessageEvents', () => {
  it('streams text', () => {
    expect(
      eventsOf(
        chunk({ role: 'assistant', content: '' }),
        chunk({ content: 'Hel' }),
        chunk({ content: 'lo' }),
        chunk({}, 'stop'),
        usageChunk,
      ),
    ).toEqual([
      {
        event: 'message_start',
        data: {
          type: 'message_start',
          message: {
            id: 'chatcmpl-1',
            type: 'message',
            role: 'assistant',
            model: 'gpt-x',
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { input_tokens: 0, output_tokens: 0 },
          },
        },
      },
      {
        event: 'content_block_start',
        data: { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      },
      {
        event: 'content_block_delta',
        data: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      },
      {
        event: 'content_block_delta',
        data: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      },
      { event: 'content_block_stop', data: { type: 'content_block_stop', index: 0 } },
      {
        event: 'message_delta',
        data: {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn', stop_sequence: null },
          usage: {
            input_tokens: 20,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 100,
            output_tokens: 15,
          },
        },
      },
      { event: 'message_stop', data: { type: 'message_stop' } },
    ]);
  });

  it('streams calls one after the other, with their arguments as they arrive', () => {
    const events = eventsOf(
      chunk({ content: 'I look.' }),
      named(0, 'call_1', 'look'),
      more(0, '{"at":'),
      more(0, '"moon"}'),
      named(1, 'functions.go:1', 'go', '{}'),
      chunk({}, 'tool_calls'),
    );
    expect(contentOf(events)).toEqual([
      'I look.',
      ['call_1', 'look', '{"at":"moon"}'],
      ['functions_go_1', 'go', '{}'],
    ]);
    expect(events[4]!.data.content_block).toEqual({
      type: 'tool_use',
      id: 'call_1',
      name: 'look',
      input: {},
    });
    expect(events[5]!.data.delta).toEqual({ type: 'input_json_delta', partial_json: '{"at":' });
    expect(events.at(-2)!.data.delta.stop_reason).toBe('tool_use');
  });

  it('loses no arguments of interleaved calls', () => {
    const events = eventsOf(
      named(0, 'a', 'f'),
      named(1, 'b', 'g'),
      more(1, '{"y":'),
      more(0, '{"x":'),
      chunk({ content: 'Text' }),
      more(0, '1}'),
      more(1, '2}'),
      chunk({ content: ' between' }),
      chunk({}, 'tool_calls'),
    );
    expect(contentOf(events)).toEqual([['a', 'f', '{"x":1}'], ['b', 'g', '{"y":2}'], 'Text between']);
  });

  it('distinguishes calls without an index or with the same index', () => {
    const part = (id: string, text: string) =>
      chunk({ tool_calls: [{ id, function: { name: 'f', arguments: text } }] });
    expect(contentOf(eventsOf(part('a', '{"x":1}'), part('b', '{}'), chunk({}, 'stop')))).toEqual([
      ['a', 'f', '{"x":1}'],
      ['b', 'f', '{}'],
    ]);
    const same = eventsOf(named(0, 'a', 'f', '{}'), named(0, 'b', 'f', '{"y":2}'), chunk({}, 'stop'));
    expect(contentOf(same)).toEqual([
      ['a', 'f', '{}'],
      ['b', 'f', '{"y":2}'],
    ]);
    expect(same.at(-2)!.data.delta.stop_reason).toBe('tool_use');
  });

  it('streams a refusal as text', () => {
    const events = eventsOf(chunk({ refusal: 'No' }), chunk({ refusal: '.' }), chunk({}, 'stop'));
    expect(contentOf(events)).toEqual(['No.']);
    expect(events.at(-2)!.data.delta.stop_reason).toBe('refusal');
  });

  it('reports an error', () => {
    const failure = { error: { type: 'server_error', message: 'Down' } };
    expect(() => new MessageEvents().push(failure)).toThrow(
      expect.objectContaining({ type: 'server_error', message: 'Down' }),
    );
    expect(() => new MessageEvents().push({ error: 'Down' })).toThrow('Down');
  });

  it('ends a turn without a finish reason', () => {
    const events = eventsOf(chunk({ content: 'Hel' }));
    expect([contentOf(events), events.at(-2)!.data.delta.stop_reason]).toEqual([['Hel'], 'end_turn']);
  });

  it('accepts anything that a provider sends', () => {
    const key = fc.oneof(fc.jsonValue(), fc.nat(2));
    const part = fc.record({
      index: key,
      id: key,
      function: fc.record({ name: key, arguments: fc.constantFrom('{', '}', '', 1) }),
    });
    const delta = fc.oneof(
      fc.jsonValue(),
      fc.record({ content: fc.constantFrom('a', 1) }),
      fc.record({ tool_calls: fc.array(part) }),
    );
    fc.assert(
      fc.property(fc.array(delta), fc.jsonValue(), (deltas, other) => {
        contentOf(
          eventsOf(...deltas.map((one) => chunk(one)), { choices: other, usage: other }, chunk({}, 'stop')),
        );
      }),
    );
  });
});
