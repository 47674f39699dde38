import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { RawJson, canonicalJson, parseJson, sha256OfJson, typedJson } from '.';

describe('canonicalJson (RFC 8785)', () => {
  it('writes the example of section 3.2.4', () => {
    const input = `{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
      "literals": [null, true, false]
    }`;
    const bytes =
      '7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b3333333333333333332e' +
      '333333333333332c31652b33302c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac245c7530303066' +
      '5c6e4127425c225c5c5c5c5c222f227d';
    const value = typedJson(parseJson(Buffer.from(input)));
    expect(Buffer.from(canonicalJson(value)).toString('hex')).toBe(bytes);
  });

  it('sorts members as in the example of section 3.2.3', () => {
    const input = `{
      "\\u20ac": "Euro Sign", "\\r": "Carriage Return", "\\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One", "\\ud83d\\ude00": "Emoji: Grinning Face", "\\u0080": "Control",
      "\\u00f6": "Latin Small Letter O With Diaeresis"
    }`;
    expect(
      [...canonicalJson(parseJson(Buffer.from(input))).matchAll(/:"([^"]+)"/g)].map((match) => match[1]),
    ).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ]);
  });

  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('writes the double %s of appendix B as %s', (hex, text) => {
    const value = Buffer.from(hex, 'hex').readDoubleBE();
    expect(canonicalJson(value)).toBe(text);
    expect(canonicalJson({ b: { '2': value, '10': [value] } })).toBe(`{"b":{"10":[${text}],"2":${text}}}`);
  });

  it.each(['7fffffffffffffff', '7ff0000000000000'])('rejects the double %s of appendix B', (hex) => {
    expect(() => canonicalJson([Buffer.from(hex, 'hex').readDoubleBE()])).toThrow(TypeError);
  });

  it('sorts array indexes as text, at any depth', () => {
    const value = parseJson(Buffer.from('{"b":{"9":1,"10":[{"z":0,"2":1,"11":2}],"a":3},"1":0}'));
    expect(canonicalJson(value)).toBe('{"1":0,"b":{"10":[{"11":2,"2":1,"z":0}],"9":1,"a":3}}');
  });

  it('rejects lone surrogates, and no other characters', () => {
    for (const value of ['\ud800', ['a\udfff'], { '\udbff': 1 }, { b: '\\\\\ud83d', 1: 0 }]) {
      expect(() => canonicalJson(value)).toThrow(TypeError);
    }
    expect(canonicalJson(['\\ud800', '\\\\udfff', '😀', '\ud7ff'])).toBe(
      JSON.stringify(['\\ud800', '\\\\udfff', '😀', '\ud7ff']),
    );
  });

  it('treats __proto__ as data', () => {
    const value = parseJson(Buffer.from('{"b":1,"__proto__":{"z":1,"polluted":2},"a":3}'));
    expect(canonicalJson(value)).toBe('{"__proto__":{"polluted":2,"z":1},"a":3,"b":1}');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('writes stored JSON by its value, and views like toJsonText', () => {
    const view = {
      b: new RawJson('{ "z":1.0, "a" : [ ] }'),
      at: new Date(0),
      gone: undefined,
      list: [undefined],
    };
    expect(canonicalJson(view)).toBe('{"at":"1970-01-01T00:00:00.000Z","b":{"a":[],"z":1},"list":[null]}');
    expect(canonicalJson({ toJSON: () => ({ b: 1, a: 2 }) })).toBe('{"a":2,"b":1}');
    expect(() => canonicalJson(undefined)).toThrow(TypeError);
    expect(() => canonicalJson([new Date(NaN)])).toThrow(TypeError);
  });

  it('does not change its argument', () => {
    const value = Object.freeze({ b: Object.freeze([1]), a: 2 });
    canonicalJson(value);
    expect(JSON.stringify(value)).toBe('{"b":[1],"a":2}');
  });

  it('writes equal JSON, independent of the order of members', () => {
    const shuffled = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shuffled);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([name, part]) => [name, shuffled(part)]),
      );
    };
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(shuffled(value))).toBe(canonicalJson(value));
      }),
    );
  });
});

describe('sha256OfJson', () => {
  it('returns the SHA-256 of the canonical form in lower-case hex', () => {
    expect(sha256OfJson({})).toBe('44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
    expect(sha256OfJson({ b: 'é', a: 1 })).toBe(createHash('sha256').update('{"a":1,"b":"é"}').digest('hex'));
  });
});
