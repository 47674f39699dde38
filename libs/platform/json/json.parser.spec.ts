import { InvalidJson, JsonInputError, memberNames, parseJson, toJsonText, typedJson, VALUES_MAX } from '.';

/** Returns an array that is nested this many levels deep. */
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

/** Parses a value that is not free-form. */
const parse = (text: string): unknown => typedJson(parseJson(Buffer.from(text)));

function rejection(body: string | Buffer): JsonInputError {
  try {
    typedJson(parseJson(Buffer.from(body)));
  } catch (error) {
    if (error instanceof JsonInputError) return error;
    throw error;
  }
  throw new Error('The body was not rejected.');
}

describe('parseJson', () => {
  describe('with valid JSON (RFC 8259)', () => {
    it.each(['null', 'true', 'false', '0', '-1.5e-7', '"a"', '[]', '{}', ' [1 ,\t{"a" :\r\n[ ] } ] '])(
      'reads %j as JSON.parse does',
      (text) => {
        expect(parse(text)).toStrictEqual(JSON.parse(text));
      },
    );

    it.each([
      '"\\" \\\\ \\/ \\b \\f \\n \\r \\t"',
      '["\\\\","\\"","\\\\\\""]',
      '"\\u00e9\\u65E5\\ud83d\\uDE00\\uD83D\\ude00"',
      '{"\\u0061":"\\\\u0000 \\\\ud800"}',
      '"\ud7ff\ue000😀"',
    ])('reads the escapes and characters in %s', (text) => {
      expect(JSON.stringify(parse(text))).toBe(JSON.stringify(JSON.parse(text)));
    });

    it('skips a byte order mark, which some clients always send', () => {
      expect(parse('\ufeff{"a":1}')).toEqual({ a: 1 });
      expect(rejection('\ufeff\ufeff1').detail).toContain('column 1');
    });

    it('keeps the last of several members with one name, with and without the exact pass', () => {
      expect(toJsonText(parse('{"a":1,"b":2,"a":3}'))).toBe('{"a":3,"b":2}');
      expect(toJsonText(parse('{"a":1,"2":2,"a":3,"1":0,"2":4}'))).toBe('{"a":3,"2":4,"1":0}');
    });
  });

  describe('with invalid UTF-8 or invalid JSON', () => {
    it.each([
      ['an overlong NUL', [0x22, 0xc0, 0x80, 0x22]],
      ['a surrogate in UTF-8', [0x22, 0xed, 0xa0, 0x80, 0x22]],
      ['Latin-1', [0x22, 0xe9, 0x22]],
      ['an incomplete character', [0x22, 0xe2, 0x82]],
    ])('rejects %s as not UTF-8', (_name, bytes) => {
      expect(rejection(Buffer.from(bytes))).toMatchObject({
        pointer: '',
        detail: expect.stringContaining('UTF-8') as string,
      });
    });

    it.each([
      ['', 'The body is empty. A JSON value is expected.'],
      [' \n', 'The body is empty. A JSON value is expected.'],
      ['{"a":1,\n "b" 2}', 'there is "2" at line 2, column 6, where ":" is expected.'],
      ['{"a":1,}', 'there is "}" at line 1, column 8, where a member name is expected.'],
      ['{a:1}', 'there is "a" at line 1, column 2, where a member name or "}" is expected.'],
      ['[1,2', 'it ends at line 1, column 5, where "," or "]" is expected.'],
      ['[1,]', 'there is "]" at line 1, column 4, where a value is expected.'],
      ['{"a":{"b":1]}', 'there is "]" at line 1, column 12, where "," or "}" is expected.'],
      ['"abc', 'it ends at line 1, column 5, where the closing quote of a string is expected.'],
      ['"abc\\"', 'it ends at line 1, column 7, where the closing quote of a string is expected.'],
      ['"a\\x"', 'where a valid escape'],
      ['"a\\u12g4"', 'where a valid escape'],
      ['"a\nb"', 'there is U+000A at line 1, column 3, where an escape such as "\\n" is expected.'],
      ['\\"a"', 'there is "\\\\" at line 1, column 1, where a value is expected.'],
      ['01', 'there is "1" at line 1, column 2, where the end of the body is expected.'],
      ['1 😀', 'there is "😀" at line 1, column 3, where the end of the body is expected.'],
      ['NaN', 'where a value is expected.'],
      ['+1', 'where a value is expected.'],
      ['.5', 'where a value is expected.'],
      ['-', 'where a value is expected.'],
      ['1.', 'where the end of the body is expected.'],
      ['12345678901234567890x', 'where the end of the body is expected.'],
      ['undefined', 'where a value is expected.'],
      ["{'a':1}", 'where a member name or "}" is expected.'],
      ['[\u00a01]', 'where a value is expected.'],
      ['\0', 'there is U+0000 at line 1, column 1'],
      ['{"a":1}{"a":1}', 'where the end of the body is expected.'],
    ])('rejects %j', (text, detail) => {
      expect(rejection(text)).toMatchObject({
        pointer: '',
        detail: expect.stringContaining(detail) as string,
      });
    });

    it('does not repeat long parts of the body in the error', () => {
      const long = 'secret'.repeat(1_000);
      for (const text of [
        `{"a":"${long}`,
        long,
        `["${long}" 1]`,
        `[${'1'.repeat(5_000)}]`,
        `["${long}\\u0000"]`,
      ]) {
        expect(rejection(text).detail.length).toBeLessThan(200);
        expect(rejection(text).message).toBe(rejection(text).detail);
      }
    });
  });

  describe('with deep nesting', () => {
    it('accepts 64 levels and rejects 65 with a pointer', () => {
      expect(parse(nested(64))).toEqual(JSON.parse(nested(64)));
      expect(rejection(nested(65))).toMatchObject({
        pointer: '/0'.repeat(64),
        detail: expect.stringContaining('64 levels') as string,
      });
      expect(rejection('{"a":'.repeat(65) + '1' + '}'.repeat(65)).pointer).toBe('/a'.repeat(64));
    });

    it('counts levels, not brackets', () => {
      expect(parse(`[${'[],{},'.repeat(200)}"[[${'{'.repeat(100)}"]`)).toHaveLength(401);
      expect(parse(`["${'[\\"'.repeat(100)}"]`)).toHaveLength(1);
    });

    it.each([10_000, 200_000])('fails early, without a stack overflow, at %i levels', (levels) => {
      expect(rejection('['.repeat(levels)).detail).toContain('64 levels');
      expect(rejection('{"a":'.repeat(levels)).detail).toContain('64 levels');
    });
  });

  describe('with characters that cannot be stored in a typed member', () => {
    it.each([
      ['{"a":["x","b\\u0000"]}', '/a/1', 'The string contains a NUL'],
      ['{"a":{"b\\u0000":1}}', '/a', 'A member name of this object contains a NUL'],
      ['{"a":["\\ud800"]}', '/a/0', 'half of a surrogate pair (\\ud800)'],
      ['["\\udfff"]', '/0', 'half of a surrogate pair (\\udfff)'],
      ['["\\uD83D\\u0041"]', '/0', '(\\ud83d)'],
      ['["\\ud83dx\\ude00"]', '/0', '(\\ud83d)'],
      ['["\\ude00\\ud83d"]', '/0', '(\\ude00)'],
      ['["\\ud83d\\ud83d\\ude00"]', '/0', '(\\ud83d)'],
      ['["\\ud83d\\n\\ude00"]', '/0', '(\\ud83d)'],
      ['["\\ud83d\\ud83d"]', '/0', '(\\ud83d)'],
      ['["\\ud83d\\ud7ff"]', '/0', '(\\ud83d)'],
      ['["\\ud83d\\u0fff"]', '/0', '(\\ud83d)'],
      ['["\\ud83d\\ndfff"]', '/0', '(\\ud83d)'],
      ['["\\ud83d udfff"]', '/0', '(\\ud83d)'],
      ['{"\\udc00":1}', '', 'A member name of this object contains half of a surrogate pair'],
    ])('rejects %s', (text, pointer, detail) => {
      expect(rejection(text)).toMatchObject({ pointer, detail: expect.stringContaining(detail) as string });
    });
  });

  describe('with numbers', () => {
    it.each([
      ['{"n":[1,1e400]}', '/n/1', 'too large'],
      ['-1e309', '', 'too large'],
      ['1'.padEnd(310, '0'), '', 'too large'],
      [`${'9'.repeat(400)}.5`, '', 'too large'],
      [`${'9'.repeat(250)}e99`, '', 'too large'],
      ['{"id":9007199254740993}', '/id', 'would become 9007199254740992'],
      ['-9007199254740993', '', 'would become -9007199254740992'],
      ['12345678901234567890', '', 'would become 12345678901234567168'],
      ['1e-400', '', 'too close to zero'],
      ['-0.0001e-330', '', 'too close to zero'],
      [`0.${'0'.repeat(400)}1`, '', 'too close to zero'],
    ])('rejects %s, which a double would change', (text, pointer, detail) => {
      expect(rejection(text)).toMatchObject({ pointer, detail: expect.stringContaining(detail) as string });
    });

    it.each([
      '9007199254740992',
      '9007199254740994',
      '1152921504606846976',
      '-1152921504606846976',
      '1208925819614629174706176',
      '0.1',
      '0.30000000000000004',
      '3.141592653589793238462643383279502884197',
      '9007199254740993.0',
      '1e308',
      '1.7976931348623157e308',
      '5e-324',
      '4e-324',
      '0e999',
      '0.0e-999',
      '-0',
      '1E+2',
      '123456789012345e-07',
      `${'9'.repeat(200)}.5`,
    ])('accepts %s', (text) => {
      expect(parse(text)).toBe(Number(text));
    });
  });

  describe('with a fault in the body', () => {
    it('escapes names in the pointer (RFC 6901)', () => {
      expect(rejection('{"a/b":{"m~n":{"":[1e999]}}}').pointer).toBe('/a~1b/m~0n//0');
    });

    it('points to an enclosing value if the pointer would be very long', () => {
      expect(rejection(`{"a":{"${'x'.repeat(600)}":[1e999]}}`).pointer).toBe('/a');
    });

    it('reports the first of several faults', () => {
      expect(rejection('{"a":"\\ud800","b":1e999').pointer).toBe('/a');
    });
  });

  describe('with member names that look like array indexes', () => {
    it.each([
      '{"b":1,"1":2}',
      '{"2":1,"1":2}',
      '{"a":{"x":[{"10":1,"9":2,"z":3,"0":4}]}}',
      '{"4294967294":1,"4294967293":2}',
      '{"b":1,"007":2,"4294967295":3,"1":4}',
      '{"b":{},"1":{"c":[],"0":{"b":null,"1":"\\""}}}',
    ])('keeps the order of %s', (text) => {
      expect(toJsonText(parse(text))).toBe(text);
    });

    it('keeps the order of names with escapes or followed by whitespace', () => {
      expect(toJsonText(parse('{"b":1,"\\u0031\\u0030":2}'))).toBe('{"b":1,"10":2}');
      expect(toJsonText(parse('{"b":1,"1\\u0030":2}'))).toBe('{"b":1,"10":2}');
      expect(toJsonText(parse('{"b":1,"1"\n\t :2}'))).toBe('{"b":1,"1":2}');
    });

    it('returns an ordinary object, and memberNames returns its names in order', () => {
      const value = parse('{"b":1,"1":2}') as Record<string, unknown>;
      expect(memberNames(value)).toEqual(['b', '1']);
      expect(value).toStrictEqual({ b: 1, 1: 2 });
      expect(Reflect.getPrototypeOf(value)).toBe(Object.prototype);
    });

    it('keeps the order after members are added and removed', () => {
      const value = parse('{"b":1,"1":2,"c":3}') as Record<string, unknown>;
      delete value['b'];
      expect(memberNames(value)).toEqual(['1', 'c']);
      value['a'] = 4;
      expect(memberNames(value)).toEqual(['1', 'c', 'a']);
      value['0'] = 5;
      expect(memberNames(value)).toEqual(['1', 'c', '0', 'a']);
      expect(toJsonText(value)).toBe('{"1":2,"c":3,"0":5,"a":4}');
    });
  });

  describe('with members named __proto__ and constructor', () => {
    // The second spelling takes the exact pass.
    it.each(['', '"1":0,'])('treats them as data, and pollutes nothing (%j)', (first) => {
      const text = `{"b":0,${first}"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}`;
      const value = parse(text) as Record<string, unknown>;
      expect(Object.keys(value)).toEqual(expect.arrayContaining(['__proto__', 'constructor']));
      expect(Reflect.getPrototypeOf(value)).toBe(Object.prototype);
      expect(value['polluted']).toBeUndefined();
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
      expect(toJsonText(value)).toBe(text);
    });
  });

  describe('in a free-form member', () => {
    const free = (text: string): unknown => parseJson(Buffer.from(text));

    it('keeps NUL characters, and the digits of numbers that JavaScript would change', () => {
      const text =
        '{"id":9007199254740993,"f":[1.0,-0,1e5,0.1000000000000000000001,1e-400],"\\u0000":"a\\u0000b"}';
      expect(toJsonText(free(text))).toBe(text);
    });

    it('tells which of the values inside are free-form', () => {
      const scores = { a: { score: free('1.0'), metadata: free('{"n":1.0}') } };
      const typed = typedJson(scores, '', (path) => path[1] === 'metadata') as typeof scores;
      expect(typed.a.score).toBe(1);
      expect(toJsonText(typed)).toBe('{"a":{"score":1,"metadata":{"n":1.0}}}');
    });
  });

  describe('with separate elements', () => {
    const items = (text: string): unknown[] =>
      (parseJson(Buffer.from(`{"items":${text}}`), 'items') as { items: unknown[] }).items;

    it('rejects only the elements that cannot be read, with pointers into the element', () => {
      expect(items('[{"a":[1e400]},{"b":1},"\\ud800",{"c":{"d":["\\udc00",[]]}},2]')).toMatchObject([
        { pointer: '/a/0', detail: expect.stringContaining('too large') as string },
        { b: 1 },
        { pointer: '', detail: expect.stringContaining('surrogate') as string },
        { pointer: '/c/d/0' },
        2,
      ]);
    });

    it('reads the elements after one of 200,000 levels', () => {
      const [deep, next] = items(`[${'['.repeat(200_000)}${']'.repeat(200_000)},{"a":1}]`);
      expect(deep).toBeInstanceOf(InvalidJson);
      expect(next).toEqual({ a: 1 });
    });

    it('rejects the body if it is not JSON, even after such an element, or if the fault is elsewhere', () => {
      for (const text of ['[1e400,{]', '["\\ud800",{}', '[1e400],"a":1e400']) {
        expect(() => items(text)).toThrow(JsonInputError);
      }
    });
  });

  it('rejects a body with too many members and elements', () => {
    const body = (count: number): string => `[${'[],'.repeat(count - 1)}[]]`;
    expect(parse(body(VALUES_MAX))).toHaveLength(VALUES_MAX);
    expect(rejection(body(VALUES_MAX + 1))).toMatchObject({ isTooLarge: true });
  });
});
