import { flattenedList } from './flattened-list';

const OPENINFERENCE = ['message', 'message_content', 'tool_call'];
const list = (attributes: Record<string, string | number>) =>
  flattenedList(attributes, 'llm.input_messages', OPENINFERENCE);

describe('flattenedList', () => {
  it('rebuilds the list', () => {
    expect(
      list({
        'llm.input_messages.0.message.role': 'user',
        'llm.input_messages.0.message.contents.0.message_content.type': 'text',
        'llm.input_messages.0.message.contents.0.message_content.text': 'What is this?',
        'llm.input_messages.0.message.contents.1.message_content.image.image.url':
          'https://example.com/a.png',
        'llm.input_messages.1.message.role': 'assistant',
        'llm.input_messages.1.message.tool_calls.0.tool_call.function.name': 'look',
        'llm.output_messages.0.message.role': 'assistant',
        'llm.model_name': 'gpt-4o',
      }),
    ).toEqual([
      {
        role: 'user',
        contents: [
          { type: 'text', text: 'What is this?' },
          { image: { image: { url: 'https://example.com/a.png' } } },
        ],
      },
      { role: 'assistant', tool_calls: [{ function: { name: 'look' } }] },
    ]);
  });

  it('sorts items by index, in any order of attributes', () => {
    const attributes: Record<string, number> = {};
    for (const index of [10, 2, 1, 0]) {
      attributes[`llm.input_messages.${index}.message.n`] = index;
    }
    expect(list(attributes)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }, { n: 10 }]);
  });

  it('accepts values instead of objects', () => {
    expect(list({ 'llm.input_messages.0': 'a', 'llm.input_messages.1': 'b' })).toEqual(['a', 'b']);
  });

  it('returns undefined without an index', () => {
    expect(
      list({ 'llm.input_messages': 'x', 'llm.input_messages.count': 1, 'llm.input_messages2.0': 1 }),
    ).toBeUndefined();
  });

  it('does not allocate memory for a huge index', () => {
    expect(list({ 'llm.input_messages.999999999.message.role': 'user' })).toEqual([{ role: 'user' }]);
    expect(list({ 'llm.input_messages.9999999999.message.role': 'user' })).toBeUndefined();
  });

  it('keeps the first of two values for the same path', () => {
    expect(list({ 'llm.input_messages.0.a': 1, 'llm.input_messages.0.a.b': 2 })).toEqual([{ a: 1 }]);
    expect(list({ 'llm.input_messages.0.a.b': 2, 'llm.input_messages.0.a': 1 })).toEqual([{ a: { b: 2 } }]);
  });

  it('ignores a path deeper than 64 levels, and does not pollute prototypes', () => {
    expect(list({ [`llm.input_messages.0${'.a'.repeat(63)}`]: 1 })).toBeDefined();
    expect(list({ [`llm.input_messages.0${'.a'.repeat(64)}`]: 1 })).toBeUndefined();
    const polluting = list({ 'llm.input_messages.0.__proto__.x': 1 });
    expect(JSON.stringify(polluting)).toBe('[{"__proto__":{"x":1}}]');
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it('ignores paths that are longer than any instrumentation writes', () => {
    expect(list({ [`llm.input_messages.0.${'a'.repeat(1_000)}`]: 1 })).toBeDefined();
    expect(list({ [`llm.input_messages.0.${'.'.repeat(1_000_000)}`]: 1 })).toBeUndefined();
  });
});
