import fc from 'fast-check';
import { unsafeJsonReason } from './json-text';

describe('unsafeJsonReason', () => {
  it.each([
    ['a member named twice', '{"iss":"a","iss":"b"}'],
    ['a member named twice, once with an escape', '{"iss":"a","\\u0069ss":"b"}'],
    ['a nested member named twice', '{"a":[{"b":1,"c":{},"b":2}]}'],
    ['a member named twice after one whose value looks like a name', '{"a":"b","b":1,"b":2}'],
    ['a member named twice around braces and quotes in strings', '{"a":"\\"},{","a":1}'],
    ['__proto__ twice', '{"__proto__":1,"__proto__":2}'],
    ['a NUL', '{"sub":"a\\u0000b"}'],
    ['a lone surrogate', '{"sub":"\\ud800"}'],
    ['a NUL in a name', '{"a\\u0000":1}'],
  ])('rejects %s', (_, text) => {
    expect(unsafeJsonReason(text)).not.toBeNull();
  });

  it.each([
    ['the same name in different objects', '{"a":{"a":1},"b":[{"a":1},{"a":2}]}'],
    ['a string equal to a name', '{"a":"a","b":["a","a","b"]}'],
    ['escaped characters', '{"a":"\\ud83d\\ude00 \\" \\\\ \\n","b":"\\\\"}'],
    ['an array', '["a","a"]'],
    ['a string', '"a"'],
    ['an empty object', ' { } '],
  ])('accepts %s', (_, text) => {
    expect(JSON.parse(text)).toBeDefined();
    expect(unsafeJsonReason(text)).toBeNull();
  });

  it('accepts what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.integer({ min: 0, max: 3 }), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(/\\u0000|\\ud/.test(text) || unsafeJsonReason(text) === null).toBe(true);
      }),
    );
  });
});
