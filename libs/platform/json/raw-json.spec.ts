import {
  canonicalJson,
  jsonChanges,
  mergePatch,
  RawJson,
  scalarPairs,
  sha256OfJson,
  storedJson,
  toJsonText,
} from '.';

const TEXT = '{"b":9007199254740993,"a":[1.0,-0,"\\u0000"],"1":{"n":0.1000000000000000000001}}';

describe('RawJson', () => {
  it('is parsed without losing digits if it will be written again', () => {
    expect(toJsonText(new RawJson(TEXT).parseExactly())).toBe(TEXT);
    expect(new RawJson(TEXT).parse()).toEqual({ b: 2 ** 53, a: [1, -0, '\0'], 1: { n: 0.1 } });
  });

  it('keeps the numbers that a merge patch does not touch, and those that it sets', () => {
    const patch = new RawJson('{"a":null,"c":12345678901234567890,"1":{"m":1.50}}').parseExactly();
    expect(toJsonText(mergePatch(new RawJson(TEXT), patch))).toBe(
      '{"b":9007199254740993,"1":{"n":0.1000000000000000000001,"m":1.50},"c":12345678901234567890}',
    );
    expect(toJsonText(mergePatch(new RawJson('1.0'), { a: 1 }))).toBe('{"a":1}');
  });

  it('has another digest for another number, and the same one for another spelling', () => {
    const digest = (text: string): string => sha256OfJson(new RawJson(text));
    expect(digest('[9007199254740993]')).not.toBe(digest('[9007199254740992]'));
    expect(digest('[1152921504606847000]')).not.toBe(digest('[1152921504606846976]'));
    expect(digest('{"a":1.0,"b":1e2}')).toBe(digest('{"b":100,"a":1}'));
    expect(canonicalJson({ n: new RawJson('9007199254740993') })).toBe('{"n":9007199254740993}');
    expect(canonicalJson([2 ** 60])).toBe('[1152921504606847000]');
  });

  it('is compared with all digits', () => {
    const exact = (text: string): unknown => new RawJson(text).parseExactly();
    expect(jsonChanges(exact(TEXT), exact(TEXT)).changes).toEqual([]);
    expect(jsonChanges(exact(TEXT), exact(TEXT.replace('0993', '0992'))).changes).toEqual([
      { pointer: '/b', op: 'replace', before: '9007199254740993', after: '9007199254740992' },
    ]);
    expect(jsonChanges(exact('[1.0,2,3]'), exact('[1.0,3]')).changes).toEqual([
      { pointer: '/1', op: 'remove', before: '2' },
    ]);
  });

  it('has a pair for each number, in one form, and none with a NUL', () => {
    const pairs = scalarPairs(new RawJson('{"id":9007199254740993,"t":1.0,"nul":"\\u0000"}').parseExactly());
    expect(pairs).toEqual(['id:9007199254740993', 't:1', expect.stringMatching(/^sha256:/)]);
  });

  it.each([
    ['"\\u0000"', '"\ufdd0\ufdd1"'],
    ['"\\\\u0000"', '"\\\\u0000"'],
    ['"\\\\\\u0000\\u0000x\\\\"', '"\\\\\ufdd0\ufdd1\ufdd0\ufdd1x\\\\"'],
    ['{"\\u0000":"\ufdd0"}', '{"\ufdd0\ufdd1":"\ufdd0\ufdd2"}'],
    ['"\ufdd0\ufdd1\ufdd2"', '"\ufdd0\ufdd2\ufdd1\ufdd2"'],
    ['"\\n\\u001f"', '"\\n\\u001f"'],
  ])('stores %s as %s, which PostgreSQL can read, and reads it back', (text, stored) => {
    expect(storedJson(text)).toBe(stored);
    expect(new RawJson(text).toPostgres()).toBe(stored);
    expect(RawJson.fromStored(stored).text).toBe(text);
  });
});
