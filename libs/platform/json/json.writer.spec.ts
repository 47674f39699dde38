import { RawJson, parseJson, toJsonText } from '.';

const parse = (text: string): unknown => parseJson(Buffer.from(text));

describe('toJsonText', () => {
  it('writes views like JSON.stringify', () => {
    class View {
      id = 'x';
      tags = ['a', undefined, null];
      absent = undefined;
      archived_at = null;
      nested = { 'a"b': [1.5, -0, true], '😀': 'line\nbreak \ud800 \u2028' };
    }
    expect(toJsonText(new View())).toBe(JSON.stringify(new View()));
    for (const value of [null, 'a', 1, true, [], {}, ['null', { a: null }]]) {
      expect(toJsonText(value)).toBe(JSON.stringify(value));
    }
  });

  it('writes times in UTC with milliseconds', () => {
    expect(toJsonText({ at: new Date('2026-02-03T04:05:06+02:00') })).toBe(
      '{"at":"2026-02-03T02:05:06.000Z"}',
    );
  });

  it('inserts stored JSON verbatim', () => {
    const text = '{ "b":1.0,\n"1" :[1e2 , "\\u0041"]}';
    expect(toJsonText(new RawJson(text))).toBe(text);
    expect(toJsonText({ a: [new RawJson(text), null], b: new RawJson('null'), c: new RawJson('"$&"') })).toBe(
      `{"a":[${text},null],"b":null,"c":"$&"}`,
    );
  });

  it('inserts stored JSON next to and inside objects with a recorded order', () => {
    const value = parse('{"b":{"y":0,"5":{"z":0,"1":"null"}},"1":[]}') as Record<string, unknown>;
    value['raw'] = new RawJson('{"b": 1, "1": 2}');
    value['absent'] = undefined;
    value['at'] = new Date(0);
    expect(toJsonText([new RawJson('[ ]'), value, new RawJson('{ }')])).toBe(
      '[[ ],{"b":{"y":0,"5":{"z":0,"1":"null"}},"1":[],"raw":{"b": 1, "1": 2},"at":"1970-01-01T00:00:00.000Z"},{ }]',
    );
  });

  it('writes an object with a recorded order and no members left', () => {
    const value = parse('{"b":1,"1":2}') as Record<string, unknown>;
    value['b'] = undefined;
    value['1'] = undefined;
    expect(toJsonText([value, { 1: 0 }])).toBe('[{},{"1":0}]');
  });

  it('distinguishes stored JSON from data that looks like its placeholder', () => {
    let placeholder: unknown;
    const raw = new RawJson('{"raw":true}');
    const spy = {
      toJSON: () => (placeholder = raw.toJSON()),
    };
    toJsonText(spy);
    expect(typeof placeholder).toBe('string');
    const expected = `["${String(placeholder)}",{"raw":true},{"${String(placeholder)}":"${String(placeholder)}"}]`;
    expect(toJsonText([placeholder, raw, { [String(placeholder)]: placeholder }])).toBe(expected);
  });

  it('rejects a toJSON method that serializes stored JSON, instead of writing a placeholder', () => {
    const view = { toJSON: () => ({ text: JSON.stringify(new RawJson('1')) }) };
    expect(() => toJsonText(view)).toThrow(TypeError);
    expect(toJsonText(new RawJson('1'))).toBe('1');
  });

  it.each([NaN, Infinity, -Infinity])('rejects %d, which would become null', (number) => {
    for (const value of [number, [number], { a: { mean: number } }, { toJSON: () => number }]) {
      expect(() => toJsonText(value)).toThrow(TypeError);
    }
    expect(() => toJsonText({ a: { mean: number } })).toThrow('"mean"');
  });

  it('rejects values without a JSON form', () => {
    const circle: unknown[] = [];
    circle.push(circle);
    for (const value of [undefined, () => 1, Symbol('a'), 1n, [1n], circle, [new Date(NaN)]]) {
      expect(() => toJsonText(value)).toThrow(TypeError);
    }
    expect(() => toJsonText(undefined)).toThrow('A value of type undefined has no JSON form.');
  });

  it('writes integers with all their digits, for readers with exact integers', () => {
    for (const text of [
      '1152921504606846976',
      '-1152921504606846976',
      '[-1152921504606846976]',
      '[0,295147905179352825856]',
      '[1152921504606846976,1e+21,1.2089258196146292e+24,1.5]',
      '{"a":18014398509481988}',
      '{"b":{"x":1152921504606846976},"1":1152921504606846976}',
      '["1152921504606847000",1e+21]',
    ]) {
      expect(toJsonText(parse(text))).toBe(text);
    }
  });

  it('writes values with the maximum nesting inside an envelope', () => {
    const text = '{"b":['.repeat(32) + '],"1":0}'.repeat(32);
    expect(toJsonText({ items: [{ input: parse(text) }] })).toBe(`{"items":[{"input":${text}}]}`);
  });

  it('works after a failure', () => {
    expect(() => toJsonText([new RawJson('1'), 1n])).toThrow(TypeError);
    expect(JSON.stringify([new RawJson('1')])).toBe('[1]');
  });
});

describe('RawJson', () => {
  it('works with JSON.stringify', () => {
    expect(JSON.stringify({ a: new RawJson('{"x": [1, null]}') })).toBe('{"a":{"x":[1,null]}}');
  });

  it.each(['{"b":1,"1":2}', '{"b":1,"\\u0031":2}', '{"b":1,"1" :2}'])(
    'keeps the order of %s when parsed',
    (text) => {
      expect(toJsonText(new RawJson(text).parse())).toBe('{"b":1,"1":2}');
    },
  );

  it('parses stored text with values that a body must not contain', () => {
    const deep = '{"b":0,"1":'.repeat(80) + '1e400' + '}'.repeat(80);
    expect(new RawJson(deep).parse()).toEqual(JSON.parse(deep));
    expect(new RawJson('["\\ud800\\u0000"]').parse()).toEqual(['\ud800\0']);
    expect(new RawJson('{"b":0,"1":"\\ud800\\u0000"}').parse()).toEqual({ b: 0, 1: '\ud800\0' });
  });

  it('returns a new value each time', () => {
    const raw = new RawJson('{"a":[]}');
    expect(raw.parse()).not.toBe(raw.parse());
  });

  it('refuses to parse invalid JSON', () => {
    expect(() => new RawJson('{"1":').parse()).toThrow(SyntaxError);
  });
});
