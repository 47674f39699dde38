import type { ProviderKind } from '../providers/provider.entity';
import { translateAnswer } from './answer-translation';
import type { AnswerFacts, CallFormat } from './call.types';

const MIB = 1024 * 1024;

function translated(answer: unknown, format: CallFormat, kind: ProviderKind = 'openai', request = '{}') {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const { bytes, facts, length } = translateAnswer(
    Buffer.from(text),
    { format, kind, sender: { name: 'p', apiKey: null } },
    Buffer.from(request),
  );
  return { text: bytes.toString(), facts, length };
}

const factsOf = (answer: unknown, format: CallFormat, kind?: ProviderKind): AnswerFacts =>
  translated(answer, format, kind).facts;

const call = { id: 'call_1', type: 'function', function: { name: 'find', arguments: '{"a":1}' } };
const chat = (message: unknown, more: object = {}) => ({
  id: 'c1',
  model: 'u',
  choices: [{ message, finish_reason: 'stop' }],
  ...more,
});

describe('an answer', () => {
  it.each([
    ['chat', 'openai', { object: 'page' }, 'did not return a chat completion'],
    ['chat', 'anthropic', chat({}), 'did not return a message'],
    ['messages', 'openai', { content: [] }, 'did not return a chat completion'],
    ['responses', 'openai', { data: [] }, 'did not return a response'],
    ['embeddings', 'openai', { data: {} }, 'did not return embeddings'],
    ['chat', 'openai', '<html>', 'did not return a JSON object'],
    ['chat', 'openai', '[]', 'did not return a JSON object'],
    ['chat', 'openai', '', 'did not return a JSON object'],
  ] as const)('is rejected for %s from a provider of kind %s if it is %j', (format, kind, answer, fault) => {
    expect(() => translated(answer, format, kind)).toThrow(`The provider p ${fault}.`);
  });

  it.each([
    ['chat', { choices: [] }, '{}', 'a chat completion'],
    ['messages', { choices: [] }, '{}', 'a chat completion'],
    ['embeddings', { data: [] }, '{"input":"x"}', 'embeddings'],
    ['embeddings', { data: [] }, '{"input":["x","y"]}', 'embeddings'],
    ['embeddings', { data: [] }, '{"input":[1,2]}', 'embeddings'],
  ] as const)('is rejected for %s if it is %j after the request %s', (format, answer, request, noun) => {
    const translating = (): unknown => translated(answer, format, 'openai', request);
    expect(translating).toThrow(`The provider p did not return ${noun}.`);
  });

  it('may have no embeddings for no input', () => {
    expect(translated({ data: [] }, 'embeddings', 'openai', '{"input":[]}').text).toBe('{"data":[]}');
  });

  it('keeps its bytes if the formats are the same', () => {
    const text = '{ "choices": [{}], "x": 12345678901234567890 }';
    expect(translated(text, 'chat')).toMatchObject({ text });
  });

  it('exposes its text, tool calls and usage', () => {
    const parts = [{ type: 'text', text: 'Hel' }, null, { text: 'lo' }];
    const usage = { prompt_tokens: 3, completion_tokens: 4 };
    expect(factsOf(chat({ content: parts, tool_calls: [call, null, 7] }, { usage }), 'chat')).toEqual({
      usage: { inputTokens: 3, outputTokens: 4, cachedInputTokens: null, cacheWriteTokens: null },
      isUsageFinal: true,
      id: 'c1',
      model: 'u',
      finishReason: 'stop',
      text: 'Hello',
      toolCalls: [call],
    });
    const items = [
      { type: 'message', content: [{ text: 'Hi' }, 7] },
      { type: 'function_call', call_id: 'call_1', name: 'find', arguments: '{"a":1}' },
    ];
    expect(factsOf({ output: items, status: 'completed' }, 'responses')).toMatchObject({
      text: 'Hi',
      toolCalls: [call],
      finishReason: 'completed',
    });
  });

  it.each(['chat', 'responses', 'embeddings'] as const)('may have members of any types for %s', (format) => {
    for (const value of [null, 7, 'x', [null], { a: 1 }]) {
      const answer = { id: value, model: value, usage: value, choices: [value], output: [value], data: [] };
      expect(factsOf(answer, format).usage.outputTokens).toBeNull();
      expect(factsOf(chat(value, { usage: { prompt_tokens: value } }), 'chat').usage.inputTokens).toBe(
        value === 7 ? 7 : null,
      );
    }
  });

  it.each([-1, 1.5, 1e10, '12', 1e300, null])('has unknown usage if its token counts are %j', (tokens) => {
    const usage = { prompt_tokens: tokens, completion_tokens: tokens };
    expect(factsOf(chat({}, { usage }), 'chat').usage).toMatchObject({
      inputTokens: null,
      outputTokens: null,
    });
  });

  it('is passed on unchanged if it has 100,000 levels, but cannot be translated', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    const own = `{"choices":[{"message":{"content":"Hi","tool_calls":[{"id":"1","function":{"arguments":{"a":${deep}}}}]}}]}`;
    expect(translated(own, 'chat')).toMatchObject({ text: own, facts: { text: '' } });
    const called = `{"choices":[{"message":{"tool_calls":[{"id":"1","function":{"name":"f","arguments":${JSON.stringify(`{"a":${deep}}`)}}}]}}]}`;
    expect(() => translated(called, 'messages')).toThrow('returned JSON that is nested too deeply');
  });

  it('cannot become a response if it has more than 1,000 parts', () => {
    const content = Array.from({ length: 1_001 }, () => ({ type: 'tool_use' }));
    expect(() => translated({ content }, 'responses', 'anthropic')).toThrow('returned too many parts');
  });

  it('changes no prototype if it has __proto__ members', () => {
    const text = '{"__proto__":{"choices":[]},"choices":[{"message":{"__proto__":{"content":"x"}}}]}';
    expect(translated(text, 'chat')).toMatchObject({ text, facts: { text: '' } });
    expect(({} as { choices?: unknown }).choices).toBeUndefined();
  });

  describe('of more than 4 MiB', () => {
    const vectors = `[${'{"embedding":[0.25,-1]},'.repeat(200_000)}{}]`;

    it.each([
      ['at its end', `{"data":${vectors},"usage":{"prompt_tokens":7}}`],
      ['at its start', ` { "usage" : {"prompt_tokens": 7, "details": {"a": 1}}, "data" : ${vectors}}`],
    ])('is passed on unchanged, with its usage %s', (_, text) => {
      expect(text.length).toBeGreaterThan(4 * MIB);
      const answer = translated(text, 'embeddings');
      expect([answer.text === text, answer.facts.usage]).toEqual([
        true,
        { inputTokens: 7, outputTokens: 0, cachedInputTokens: null, cacheWriteTokens: null },
      ]);
    });

    it('has unknown usage if only its content looks like usage', () => {
      const quoted = JSON.stringify('"usage":{"prompt_tokens":7}'.repeat(200_000));
      const text = `{"choices":[{"usage":{"prompt_tokens":7},"message":{"content":${quoted}}}]}`;
      expect(text.length).toBeGreaterThan(4 * MIB);
      expect(translated(text, 'chat').facts.usage.inputTokens).toBeNull();
    });

    it('is rejected if it is no answer, or must be translated', () => {
      const page = `<html>${' '.repeat(5 * MIB)}`;
      expect(() => translated(page, 'chat')).toThrow('did not return a JSON object');
      const text = `{"choices":[],"x":"${'x'.repeat(5 * MIB)}"}`;
      expect(() => translated(text, 'messages')).toThrow('returned more than 4 MiB');
    });
  });
});

describe('the length of an answer without usage', () => {
  const message = { content: 'Hello', refusal: 'No' };
  const thinking = [
    { type: 'thinking', thinking: 'Hmm' },
    { type: 'text', text: 'Hi' },
  ];
  const output = [
    { type: 'reasoning', summary: [{ text: 'Hmm' }] },
    { type: 'message', content: [{ text: 'Hi' }, { refusal: 'No' }] },
    { type: 'function_call', arguments: '{}' },
  ];

  it.each<[string, unknown, CallFormat, ProviderKind?]>([
    ['all choices', { choices: [{ message }, { message }] }, 'chat'],
    ['calls', chat({ content: 'Hello..', tool_calls: [call] }), 'chat'],
    ['a call of the old form', chat({ content: 'Hello..', function_call: { arguments: '{"a":1}' } }), 'chat'],
    ['reasoning', chat({ content: 'Hello..', reasoning_content: '7 chars' }), 'chat'],
    [
      'reasoning under two names',
      chat({ content: 'Hello..', reasoning_content: '7 chars', reasoning: '7 chars' }),
      'chat',
    ],
    [
      'thinking',
      { content: [...thinking, { type: 'tool_use', id: 'c', name: 'f', input: { a: 123 } }] },
      'messages',
      'anthropic',
    ],
    [
      'summaries and calls',
      { output: [...output, { type: 'custom_tool_call', input: 'abcde' }] },
      'responses',
    ],
  ])('counts %s', (_, answer, format, kind: ProviderKind = 'openai') => {
    expect(translated(answer, format, kind).length).toBe(14);
  });
});
