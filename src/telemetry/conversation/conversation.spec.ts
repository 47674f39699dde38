import { RawJson } from '#platform/json';
import { Conversation, type ConversationTrace } from './conversation';
import { firstUserContent, lastAssistantContent, type SessionMessage } from './messages';

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

  it('provides the first user content and the last assistant content', () => {
    const messages = messagesOfTraces([trace('a', 'one', 'two'), trace('b', 'three', 'four')]);
    expect(firstUserContent(messages)).toBe('one');
    expect(lastAssistantContent(messages)).toBe('four');
    expect(firstUserContent([])).toBeUndefined();
  });
});
