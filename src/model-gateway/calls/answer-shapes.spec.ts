import type { ProviderKind } from '../providers/provider.entity';
import { type AnswerFacts, shapeAnswer } from './answer-shapes';
import type { CallFormat } from './call-format';

const shaped = (answer: unknown, format: CallFormat, kind: ProviderKind = 'openai') =>
  shapeAnswer(typeof answer === 'string' ? answer : JSON.stringify(answer), { format, kind, request: '{}' });

function factsOf(answer: unknown, format: CallFormat, kind?: ProviderKind): AnswerFacts {
  const result = shaped(answer, format, kind);
  if ('fault' in result) throw new Error(result.fault);
  return result.facts;
}

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
    expect(shaped(answer, format, kind)).toEqual({ fault });
  });

  it('keeps its bytes if the formats are the same', () => {
    const text = '{ "choices": [], "x": 12345678901234567890 }';
    expect(shaped(text, 'chat')).toMatchObject({ text });
  });

  it('exposes its text, tool calls and usage', () => {
    const parts = [{ type: 'text', text: 'Hel' }, null, { text: 'lo' }];
    const usage = { prompt_tokens: 3, completion_tokens: 4 };
    expect(factsOf(chat({ content: parts, tool_calls: [call, null, 7] }, { usage }), 'chat')).toEqual({
      usage: { inputTokens: 3, outputTokens: 4, cachedInputTokens: null, cacheWriteTokens: null },
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
    expect(shaped(own, 'chat')).toMatchObject({ text: own, facts: { text: 'Hi' } });
    const called = `{"choices":[{"message":{"tool_calls":[{"id":"1","function":{"name":"f","arguments":${JSON.stringify(`{"a":${deep}}`)}}}]}}]}`;
    expect(shaped(called, 'messages')).toEqual({ fault: 'returned JSON that is nested too deeply' });
  });

  it('changes no prototype if it has __proto__ members', () => {
    const text = '{"__proto__":{"choices":[]},"choices":[{"message":{"__proto__":{"content":"x"}}}]}';
    expect(shaped(text, 'chat')).toMatchObject({ text, facts: { text: '' } });
    expect(({} as { choices?: unknown }).choices).toBeUndefined();
  });
});
