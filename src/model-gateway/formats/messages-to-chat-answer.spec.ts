import fc from 'fast-check';
import { ChatChunks } from './chat-chunks';
import { toChatAnswer } from './messages-to-chat-answer';
import { StreamFailure } from './stream-failure';

const event = (data: unknown) => ({ data: JSON.stringify(data), raw: Buffer.alloc(0) });
const chunksOf = (...events: unknown[]) => {
  const chunks = new ChatChunks();
  return events.flatMap((one) => chunks.push(event(one))) as any[];
};
const start = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 25, cache_read_input_tokens: 100, output_tokens: 1 },
  },
};
const blockStart = (index: number, content_block: unknown) => ({
  type: 'content_block_start',
  index,
  content_block,
});
const delta = (index: number, value: unknown) => ({ type: 'content_block_delta', index, delta: value });
const blockStop = (index: number) => ({ type: 'content_block_stop', index });
const messageDelta = (stop_reason: string, members = {}) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null, ...members },
  usage: { output_tokens: 15 },
});
const stop = { type: 'message_stop' };

/** Returns the answer as OpenAI's client assembles it from chunks. */
function assembled(chunks: any[]) {
  const answer: any = { content: '', reasoning: '', calls: [] as any[] };
  for (const { choices } of chunks) {
    for (const { delta: part, finish_reason } of choices) {
      answer.content += part.content ?? '';
      answer.reasoning += part.reasoning_content ?? '';
      for (const call of part.tool_calls ?? []) {
        answer.calls[call.index] ??= { id: call.id, name: call.function.name, text: '' };
        answer.calls[call.index].text += call.function.arguments;
      }
      if (finish_reason !== null) answer.finish = finish_reason;
    }
  }
  return answer;
}

describe('toChatAnswer', () => {
  it('translates text, thinking, calls and usage', () => {
    const answer = toChatAnswer({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 's' },
        { type: 'text', text: 'I ', citations: null },
        { type: 'text', text: 'look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'moon' } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 5,
        cache_read_input_tokens: 85,
        output_tokens: 20,
        output_tokens_details: { thinking_tokens: 7 },
      },
    });
    expect(answer).toEqual({
      id: 'msg_1',
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'claude-x',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'I look.',
            refusal: null,
            reasoning_content: 'Hm.',
            tool_calls: [
              { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":"moon"}' } },
            ],
          },
          finish_reason: 'tool_calls',
          logprobs: null,
        },
      ],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 85, cache_write_tokens: 5 },
        completion_tokens_details: { reasoning_tokens: 7 },
      },
    });
  });

  it('translates the reason why the model stopped', () => {
    const reason = (stop_reason: unknown) => (toChatAnswer({ stop_reason }) as any).choices[0].finish_reason;
    expect(
      ['end_turn', 'max_tokens', 'tool_use', 'stop_sequence', 'refusal', 'pause_turn', '__proto__', null].map(
        reason,
      ),
    ).toEqual(['stop', 'length', 'tool_calls', 'stop', 'content_filter', 'stop', 'stop', 'stop']);
  });

  it('returns null content without text, the explanation of a refusal, and the name of the model', () => {
    const answer: any = toChatAnswer({
      model: 'claude-x',
      content: [],
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: 'bio', explanation: 'Not this.' },
    });
    expect(answer.model).toBe('claude-x');
    expect(answer.choices[0].message).toEqual({ role: 'assistant', content: null, refusal: 'Not this.' });
    expect(answer).not.toHaveProperty('usage');
  });

  it('accepts anything that a provider sends', () => {
    const block = fc.record({ type: fc.constantFrom('text', 'thinking', 'tool_use'), text: fc.jsonValue() });
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.array(block)), fc.jsonValue(), (content, usage) => {
        expect(toChatAnswer({ content, usage, id: usage, model: content }).object).toBe('chat.completion');
      }),
    );
  });
});

describe('ChatChunks', () => {
  it('streams text', () => {
    const chunks = chunksOf(
      start,
      blockStart(0, { type: 'text', text: '' }),
      { type: 'ping' },
      delta(0, { type: 'text_delta', text: 'Hel' }),
      delta(0, { type: 'text_delta', text: 'lo' }),
      blockStop(0),
      messageDelta('end_turn'),
      stop,
    );
    const envelope = {
      id: 'msg_1',
      object: 'chat.completion.chunk',
      created: expect.any(Number),
      model: 'claude-x',
    };
    const choice = (part: unknown, finish_reason: string | null = null) => ({
      ...envelope,
      choices: [{ index: 0, delta: part, logprobs: null, finish_reason }],
    });
    expect(chunks).toEqual([
      choice({ role: 'assistant', content: '' }),
      choice({ content: 'Hel' }),
      choice({ content: 'lo' }),
      choice({}, 'stop'),
      {
        ...envelope,
        choices: [],
        usage: {
          prompt_tokens: 125,
          completion_tokens: 15,
          total_tokens: 140,
          prompt_tokens_details: { cached_tokens: 100 },
        },
      },
    ]);
  });

  it('streams thinking and several calls', () => {
    const chunks = chunksOf(
      start,
      blockStart(0, { type: 'thinking', thinking: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Hm.' }),
      delta(0, { type: 'signature_delta', signature: 'x' }),
      blockStop(0),
      blockStart(1, { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }),
      delta(1, { type: 'input_json_delta', partial_json: '' }),
      delta(1, { type: 'input_json_delta', partial_json: '{"at":' }),
      delta(1, { type: 'input_json_delta', partial_json: '"moon"}' }),
      blockStop(1),
      blockStart(2, { type: 'tool_use', id: 'toolu_2', name: 'go', input: { to: 'sun' } }),
      blockStop(2),
      messageDelta('tool_use'),
      stop,
    );
    expect(assembled(chunks)).toEqual({
      content: '',
      reasoning: 'Hm.',
      calls: [
        { id: 'toolu_1', name: 'look', text: '{"at":"moon"}' },
        { id: 'toolu_2', name: 'go', text: '{"to":"sun"}' },
      ],
      finish: 'tool_calls',
    });
    expect(chunks[2].choices[0].delta.tool_calls).toEqual([
      { index: 0, id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '' } },
    ]);
    expect(chunks[3].choices[0].delta.tool_calls).toEqual([{ index: 0, function: { arguments: '{"at":' } }]);
  });

  it('adds arguments that a client can parse to a call without parameters', () => {
    const chunks = chunksOf(
      start,
      blockStart(0, { type: 'tool_use', id: 'toolu_1', name: 'now', input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '' }),
      blockStop(0),
    );
    expect(assembled(chunks).calls).toEqual([{ id: 'toolu_1', name: 'now', text: '{}' }]);
  });

  it('streams the explanation of a refusal', () => {
    const chunks = chunksOf(
      start,
      messageDelta('refusal', { stop_details: { explanation: 'Not this.' } }),
      stop,
    );
    expect(chunks[1].choices[0]).toMatchObject({
      delta: { refusal: 'Not this.' },
      finish_reason: 'content_filter',
    });
  });

  it('reports whether the stream is complete, and its usage', () => {
    const chunks = new ChatChunks();
    chunks.push(event(start));
    chunks.push(event(messageDelta('end_turn')));
    expect(chunks.isDone).toBe(false);
    chunks.push(event(stop));
    expect(chunks.isDone).toBe(true);
    expect(chunks.usage).toEqual({
      inputTokens: 125,
      outputTokens: 15,
      cachedInputTokens: 100,
      cacheWriteTokens: null,
    });
    expect(chunks.push(event(stop))).toEqual([]);
  });

  it('reports an error from the provider', () => {
    const failure = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    expect(() => chunksOf(start, failure)).toThrow(
      expect.objectContaining({ type: 'overloaded_error', message: 'Overloaded' }),
    );
    expect(() => chunksOf({ type: 'error' })).toThrow(StreamFailure);
    expect(() => new ChatChunks().push({ data: '{"type":', raw: Buffer.alloc(0) })).toThrow(StreamFailure);
  });

  it('accepts anything that a provider sends', () => {
    const type = fc.constantFrom(
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
      '__proto__',
    );
    const part = fc.oneof(
      fc.jsonValue(),
      fc.record({
        type: fc.constantFrom('tool_use', 'input_json_delta', 'text_delta'),
        text: fc.jsonValue(),
      }),
    );
    const hostile = fc.record({
      type,
      index: fc.jsonValue(),
      message: part,
      content_block: part,
      delta: part,
      usage: part,
    });
    fc.assert(
      fc.property(fc.array(hostile), (events) => {
        for (const chunk of chunksOf(...events)) expect(chunk.object).toBe('chat.completion.chunk');
      }),
    );
  });
});
