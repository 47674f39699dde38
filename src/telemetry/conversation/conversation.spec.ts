import { RawJson } from '#platform/json';
import { Conversation, type ConversationTrace } from './conversation';
import { firstUserContent, lastAssistantContent, messagesIn, type SessionMessage } from './messages';

const json = (value: unknown): RawJson | null =>
  value === undefined ? null : new RawJson(JSON.stringify(value));
const trace = (trace_id: string, input?: unknown, output?: unknown): ConversationTrace => ({
  trace_id,
  input: json(input),
  output: json(output),
});
const messagesOfTraces = (traces: ConversationTrace[]): SessionMessage[] => {
  const conversation = new Conversation();
  return traces.flatMap((one) => conversation.add(one));
};
const contents = (traces: ConversationTrace[]) =>
  messagesOfTraces(traces).map(({ role, content, trace_id }) => [trace_id, role, content]);

describe('Conversation of traces with only a root span', () => {
  it('takes one turn from each trace, even if inputs repeat the conversation', () => {
    const first = [
      { role: 'system', content: 'be kind' },
      { role: 'user', content: 'hello' },
    ];
    const second = [...first, { role: 'assistant', content: 'hi' }, { role: 'user', content: 'bye?' }];
    expect(
      contents([
        trace('a', first, [{ role: 'assistant', content: 'hi' }]),
        trace('b', second, [{ role: 'assistant', content: 'bye' }]),
      ]),
    ).toEqual([
      ['a', 'system', 'be kind'],
      ['a', 'user', 'hello'],
      ['a', 'assistant', 'hi'],
      ['b', 'user', 'bye?'],
      ['b', 'assistant', 'bye'],
    ]);
  });

  it('turns other inputs and outputs into messages', () => {
    expect(contents([trace('a', { q: 1 }, 'text'), trace('b', ['x'], null), trace('c')])).toEqual([
      ['a', 'user', { q: 1 }],
      ['a', 'assistant', 'text'],
      ['b', 'user', ['x']],
    ]);
  });

  it('reads the messages and parts of the OpenTelemetry conventions', () => {
    const input = {
      messages: [
        {
          role: 'human',
          parts: [
            { type: 'text', content: 'see ' },
            { type: 'text', content: 'this' },
          ],
        },
      ],
    };
    const output = [{ role: 'ai', parts: [{ type: 'tool_call', id: '1' }] }];
    expect(contents([trace('a', input, output)])).toEqual([
      ['a', 'user', 'see this'],
      ['a', 'assistant', [{ type: 'tool_call', id: '1' }]],
    ]);
  });

  it('reads messages that LangChain has serialized', () => {
    const message = (type: string, kwargs: object) => ({
      ...{ lc: 1, type: 'constructor', id: ['langchain_core', 'messages', type] },
      kwargs: { id: 'm-1', additional_kwargs: {}, ...kwargs },
    });
    const call = { name: 'look', args: { n: 7 }, type: 'tool_call', id: 'call_1' };
    const messages = [
      message('HumanMessage', { content: 'Where is it?' }),
      message('AIMessage', { content: '', tool_calls: [call] }),
      message('ToolMessage', { content: 'shipped', tool_call_id: 'call_1', name: 'look' }),
      message('AIMessage', { content: 'On its way.' }),
    ];
    expect(messagesOfTraces([trace('a', 'Where is it?', { messages })])).toEqual([
      { trace_id: 'a', role: 'user', content: 'Where is it?' },
      { trace_id: 'a', role: 'assistant', content: '', tool_calls: [call] },
      { trace_id: 'a', role: 'tool', content: 'shipped', tool_call_id: 'call_1', name: 'look' },
      { trace_id: 'a', role: 'assistant', content: 'On its way.' },
    ]);
  });

  it('provides the first user content and the last assistant content', () => {
    const messages = messagesOfTraces([trace('a', 'one', 'two'), trace('b', 'three', 'four')]);
    expect(firstUserContent(messages)).toBe('one');
    expect(lastAssistantContent(messages)).toBe('four');
    expect(firstUserContent([])).toBeUndefined();
  });
});

describe('Turn.addStoredInput', () => {
  const user = (content: string) => ({ role: 'user', content });
  const assistant = (content: string) => ({ role: 'assistant', content });
  const tool = (content: string) => ({ role: 'tool', content });
  const [hi, hello, no] = [user('hi'), assistant('hello'), user('no, "]')];
  /** Returns the new messages of each input of two traces. @param isStored whether inputs are read from their JSON */
  const added = (inputs: unknown[], isStored: boolean) => {
    const conversation = new Conversation();
    return [1, 2].flatMap(() => {
      const turn = conversation.startTrace();
      return inputs.map((input) => {
        const counts = new Map<string, number>();
        const found = isStored
          ? turn.addStoredInput(json(input), counts)
          : turn.addInput(messagesIn(input, 'user'), counts);
        return [found, [...counts], turn.addOutput([assistant('same')], counts)];
      });
    });
  };

  it.each<[string, unknown[]]>([
    ['longer ones', [[hi], [hi, hello], [hi, hello, no, tool('1'), user('hi')]]],
    ['equal ones, also in between', [[hi, hello], [hi, hello], [no], [no], [hi, hello]]],
    [
      'shorter ones',
      [
        [hi, hello, no],
        [hi, hello],
        [hi, hello, no, no],
      ],
    ],
    ['repeated messages', [[hi], [hi, hi], [hi, hi, hello, hi], [hi, hi, hello, hi, tool('1'), tool('1')]]],
    ['a text that begins alike', [[user('a')], [user('ab')], [user('a'), user('ab')]]],
    ['other values', [[hi], 'text', [], [hi, 1], { messages: [hi, no] }, null, [[]], [hi, [1]], [hi, no]]],
    ['only other values', [[], [1], [1, 2], [1, 2, hi], {}, 'text']],
  ])('finds the same messages as addInput: %s', (_, inputs) => {
    expect(added(inputs, true)).toEqual(added(inputs, false));
  });

  it('reads only the messages after those of the last input', () => {
    const turn = new Conversation().startTrace();
    turn.addStoredInput(json([hi]), new Map());
    const read = jest.spyOn(RawJson.prototype, 'parseExactly');
    expect(turn.addStoredInput(json([hi, hello]), new Map())).toEqual([hello]);
    expect(read.mock.contexts).toEqual([json([hello])]);
    read.mockRestore();
  });
});
