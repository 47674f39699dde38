import { contentOf } from './content.parser';

describe('contentOf', () => {
  it.each([
    ['plain text', undefined, 'plain text'],
    ['{"a":1}', undefined, { a: 1 }],
    [' [1]', undefined, [1]],
    ['[INST] hello', undefined, '[INST] hello'],
    ['{"cut": "of', undefined, '{"cut": "of'],
    ['42', undefined, '42'],
    ['"text"', undefined, '"text"'],
    ['{"a":1}', 'text/plain', '{"a":1}'],
    ['42', 'application/json', 42],
    ['"text"', 'application/json; charset=utf-8', 'text'],
    ['null', 'application/json', null],
    ['not json', 'application/json', 'not json'],
    ['{"a":1}', 'application/vnd.messages+json', { a: 1 }],
    ['', undefined, null],
    [undefined, undefined, null],
    [{ a: 1 }, 'text/plain', { a: 1 }],
    [7, undefined, 7],
    [false, undefined, false],
  ])('reads %j with the type %j as %j', (value, mimeType, content) => {
    expect(contentOf(value, mimeType)).toEqual(content);
  });

  it('replaces escaped characters that PostgreSQL cannot store', () => {
    expect(contentOf('{"a\\u0000":["b\\u0000","\\ud800","\\ud83c\\udf0d"]}')).toEqual({
      'a\ufffd': ['b\ufffd', '\ufffd', '🌍'],
    });
    expect(contentOf('[1e999]')).toEqual(['Infinity']);
  });

  it('reads integers beyond 2^53 as texts', () => {
    expect(contentOf('{"id":1234567890123456789,"ids":[-9007199254740993,1000000000000000,7]}')).toEqual({
      id: '1234567890123456789',
      ids: ['-9007199254740993', 1_000_000_000_000_000, 7],
    });
  });

  it('treats __proto__ as an ordinary member', () => {
    const content = contentOf('{"__proto__":{"x":1}}');
    expect(JSON.stringify(content)).toBe('{"__proto__":{"x":1}}');
    expect((content as Record<string, unknown>).x).toBeUndefined();
  });

  it('leaves JSON as a text if it is nested deeper than 64 levels', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(JSON.stringify(contentOf(nested(64)))).toBe(nested(64));
    expect(contentOf(nested(65))).toBe(nested(65));
    expect(contentOf(nested(10_000))).toBe(nested(10_000));
  });

  it('leaves JSON as a text if it has too many elements, but not because of its strings', () => {
    const list = (count: number) => `[${'0,'.repeat(count)}0]`;
    expect(contentOf(list(65_000))).toHaveLength(65_001);
    expect(contentOf(list(66_000))).toBe(list(66_000));
    const text = String.raw`{\"[,`.repeat(100_000);
    expect(contentOf(`["${text}"]`)).toEqual([JSON.parse(`"${text}"`)]);
  });
});
