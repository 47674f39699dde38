import type { OtlpValue } from '#otlp';
import { previewOf } from './content-preview';

const preview = (value: OtlpValue, kind: 'input' | 'output' = 'input') =>
  previewOf(value, JSON.stringify(value), kind);

describe('previewOf', () => {
  it('shows the question rather than the system prompt in front of it', () => {
    const parts = (content: string) => [{ type: 'text', content }];
    const chat = [
      { role: 'system', parts: parts('You are helpful.') },
      { role: 'user', parts: parts('Weather?') },
    ];
    expect(preview(chat)).toBe('Weather?');
    expect(preview({ messages: [{ role: 'human', content: [{ type: 'text', text: 'Hi' }] }] })).toBe('Hi');
    expect(preview([{ message: { content: 'a' } }, { role: 'assistant', content: 'b' }], 'output')).toBe('b');
    const serialized = { lc: 1, id: ['HumanMessage'], kwargs: { content: 'Hello' } };
    expect(preview({ messages: [serialized] })).toBe('Hello');
  });

  it('shows texts as they are, and other values as JSON', () => {
    expect(preview('plain')).toBe('plain');
    expect(preview({ city: 'Paris' })).toBe('{"city":"Paris"}');
    expect(preview([1, 2])).toBe('[1,2]');
    expect(preview([{ role: 'assistant', tool_calls: [{ id: 'x' }] }], 'output')).toBe(
      '[{"role":"assistant","tool_calls":[{"id":"x"}]}]',
    );
  });

  it('cuts after 200 characters, never inside one', () => {
    expect(preview('😀'.repeat(300))).toBe('😀'.repeat(200));
    expect(preview(`a${'😀'.repeat(300)}`)).toBe(`a${'😀'.repeat(199)}`);
    expect(preview('n'.repeat(200))).toHaveLength(200);
  });
});
