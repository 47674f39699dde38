import fc from 'fast-check';
import { ResponseEvents } from './response-events';

const usage = {
  prompt_tokens: 120,
  completion_tokens: 15,
  total_tokens: 135,
  prompt_tokens_details: { cached_tokens: 100 },
  completion_tokens_details: { reasoning_tokens: 8 },
};
const chunk = (delta: unknown, finish_reason: string | null = null) => ({
  id: 'chatcmpl-1',
  model: 'gpt-x',
  choices: [{ index: 0, delta, finish_reason }],
});
const callChunk = (index: number, members: Record<string, unknown>) =>
  chunk({ tool_calls: [{ index, ...members }] });
const usageChunk = { choices: [], usage };

const eventsOf = (...chunks: any[]) => {
  const events = new ResponseEvents({ model: 'gpt' });
  return [...chunks.flatMap((one) => events.push(one)), ...events.close(), events.end()] as any[];
};

/** Returns the response as OpenAI's client assembles it from events. Fails if an event refers to a missing item. */
function assembled(events: any[]) {
  let response: any;
  events.forEach((event, index) => {
    expect(event.sequence_number).toBe(index);
    const item = response?.output[event.output_index];
    if (event.item_id !== undefined) expect(item.id).toBe(event.item_id);
    switch (event.type) {
      case 'response.created':
        response = structuredClone(event.response);
        break;
      case 'response.output_item.added':
        expect(event.output_index).toBe(response.output.length);
        response.output.push(structuredClone(event.item));
        break;
      case 'response.content_part.added':
        expect(event.content_index).toBe(item.content.length);
        item.content.push(structuredClone(event.part));
        break;
      case 'response.output_text.delta':
        item.content[event.content_index].text += event.delta;
        break;
      case 'response.refusal.delta':
        item.content[event.content_index].refusal += event.delta;
        break;
      case 'response.function_call_arguments.delta':
        item.arguments += event.delta;
        break;
      case 'response.output_text.done':
        expect(event.text).toBe(item.content[event.content_index].text);
        break;
      case 'response.function_call_arguments.done':
        expect([event.arguments, event.name]).toEqual([item.arguments, item.name]);
        break;
      case 'response.content_part.done':
        expect(event.part).toEqual(item.content[event.content_index]);
        break;
      case 'response.output_item.done':
        expect({ ...event.item, status: 'in_progress' }).toEqual(item);
        item.status = event.item.status;
        break;
    }
  });
  return response;
}

describe('ResponseEvents', () => {
  it('streams text', () => {
    const events = eventsOf(
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      chunk({}, 'stop'),
      usageChunk,
    );
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const { response } = events.at(-1);
    expect(events[0].response).toMatchObject({
      id: response.id,
      status: 'in_progress',
      output: [],
      usage: null,
    });
    expect(events[4]).toEqual({
      type: 'response.output_text.delta',
      sequence_number: 4,
      item_id: response.output[0].id,
      output_index: 0,
      content_index: 0,
      delta: 'Hel',
      logprobs: [],
    });
    expect(response).toMatchObject({
      status: 'completed',
      model: 'gpt-x',
      usage: { input_tokens: 120, output_tokens: 15, output_tokens_details: { reasoning_tokens: 8 } },
    });
    expect(assembled(events).output).toEqual(response.output);
    expect(response.output[0].content[0].text).toBe('Hello');
  });

  it('streams calls', () => {
    const events = eventsOf(
      chunk({ content: 'I look.' }),
      callChunk(0, { id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } }),
      callChunk(0, { function: { arguments: '{"at":' } }),
      callChunk(0, { function: { arguments: '"moon"}' } }),
      callChunk(1, { id: 'call_2', type: 'function', function: { name: 'now', arguments: '' } }),
      chunk({}, 'tool_calls'),
    );
    const { output } = events.at(-1).response;
    expect(output).toMatchObject([
      { type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'I look.' }] },
      {
        type: 'function_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'look',
        arguments: '{"at":"moon"}',
      },
      { type: 'function_call', status: 'completed', call_id: 'call_2', name: 'now', arguments: '{}' },
    ]);
    expect(assembled(events).output).toEqual(output);
    expect(events.slice(9, 14).map(({ type }) => type)).toEqual([
      'response.function_call_arguments.delta',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.output_item.added',
    ]);
  });

  it('loses no arguments of interleaved calls', () => {
    const events = eventsOf(
      callChunk(0, { id: 'a', function: { name: 'f', arguments: '{"x":' } }),
      callChunk(1, { id: 'b', function: { name: 'g', arguments: '{"y":' } }),
      callChunk(0, { function: { arguments: '1}' } }),
      callChunk(1, { function: { arguments: '2}' } }),
      chunk({}, 'tool_calls'),
    );
    expect(assembled(events).output.map((item: any) => [item.call_id, item.arguments])).toEqual([
      ['a', '{"x":1}'],
      ['b', '{"y":2}'],
    ]);
  });

  it('streams a refusal', () => {
    const events = eventsOf(chunk({ refusal: 'No' }), chunk({ refusal: '.' }), chunk({}, 'stop'));
    expect(events.find(({ type }) => type === 'response.refusal.done')).toMatchObject({ refusal: 'No.' });
    expect(assembled(events).output[0].content).toEqual([{ type: 'refusal', refusal: 'No.' }]);
  });

  it('reports why an answer is incomplete', () => {
    const events = eventsOf(chunk({ content: 'Hel' }), chunk({}, 'length'));
    expect(events.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: [{ status: 'incomplete' }],
      },
    });
  });

  it('reports an error', () => {
    expect(() => new ResponseEvents({}).push({ error: { message: 'Down' } })).toThrow('Down');
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
      fc.record({ content: fc.constantFrom('a', 1), refusal: fc.constantFrom('b', 1) }),
      fc.record({ tool_calls: fc.array(part) }),
    );
    fc.assert(
      fc.property(fc.array(delta), fc.jsonValue(), (deltas, other) => {
        const events = eventsOf(
          ...deltas.map((one) => chunk(one)),
          { choices: other, usage: other },
          chunk({}, 'stop'),
        );
        expect(assembled(events).output).toEqual(events.at(-1).response.output);
      }),
    );
  });
});
