import fc from 'fast-check';
import { RawJson, mergePatch, parseJson, toJsonText } from '.';

const parse = (text: string): unknown => parseJson(Buffer.from(text));

describe('mergePatch (RFC 7396)', () => {
  it.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ])('follows appendix A: %s patched by %s', (target, patch, result) => {
    expect(toJsonText(mergePatch(parse(target), parse(patch)))).toBe(result);
  });

  it('replaces the members in `whole` and keeps the nulls inside them', () => {
    const target = parse('{"input":{"a":1,"b":2},"metadata":{"a":1,"b":2}}');
    const patch = parse('{"input":{"a":null,"c":[null]},"metadata":{"a":null,"input":{"x":null}}}');
    expect(toJsonText(mergePatch(target, patch, ['input']))).toBe(
      '{"input":{"a":null,"c":[null]},"metadata":{"b":2,"input":{}}}',
    );
  });

  it('sets a member in `whole` to null', () => {
    expect(mergePatch({ input: { a: 1 }, name: 'x' }, { input: null, name: null }, ['input'])).toEqual({
      input: null,
    });
  });

  it('keeps members that are absent or undefined in the patch', () => {
    expect(mergePatch({ a: 1, b: 2 }, { a: undefined }, ['b'])).toEqual({ a: 1, b: 2 });
  });

  it('merges into stored JSON, and keeps other stored JSON verbatim', () => {
    const target = { metadata: new RawJson('{ "a":1, "b":{ "c":2 } }'), config: new RawJson('[ 1.0 ]') };
    expect(toJsonText(mergePatch(target, parse('{"metadata":{"b":{"d":3}}}')))).toBe(
      '{"metadata":{"a":1,"b":{"c":2,"d":3}},"config":[ 1.0 ]}',
    );
    const at = new Date(0);
    expect(mergePatch(target, { metadata: new RawJson('{}'), at })).toEqual({
      metadata: new RawJson('{}'),
      config: target.config,
      at,
    });
  });

  it('keeps the order of members and appends new ones', () => {
    expect(toJsonText(mergePatch(parse('{"b":1,"1":2,"a":3}'), parse('{"0":4,"b":5,"1":null}')))).toBe(
      '{"b":5,"a":3,"0":4}',
    );
  });

  it('treats __proto__ as data, in the target and in the patch', () => {
    const result = mergePatch(
      parse('{"__proto__":{"a":1},"b":{}}'),
      parse(
        '{"__proto__":{"polluted":1},"b":{"__proto__":{"polluted":1}},"constructor":{"prototype":{"polluted":1}}}',
      ),
    ) as Record<string, unknown>;
    expect(toJsonText(result)).toBe(
      '{"__proto__":{"a":1,"polluted":1},"b":{"__proto__":{"polluted":1}},"constructor":{"prototype":{"polluted":1}}}',
    );
    expect(Reflect.getPrototypeOf(result)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(toJsonText(mergePatch({}, parse('{"__proto__":null,"constructor":{"a":null}}')))).toBe(
      '{"constructor":{}}',
    );
  });

  it('is idempotent and does not change its arguments', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (target, patch) => {
        const before = JSON.stringify([target, patch]);
        const once = mergePatch(target, patch);
        expect(JSON.stringify([target, patch])).toBe(before);
        expect(mergePatch(once, patch)).toEqual(once);
      }),
    );
  });
});
