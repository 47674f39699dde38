import fc from 'fast-check';
import { foldedName, splice } from './json-splice';

/** Blanks between the tokens of an object. */
const blank = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
/** A JSON text, compact or with line breaks. */
const valueText = fc
  .tuple(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 2))
  .map(([value, indent]) => JSON.stringify(value, null, indent));
/** A name as a JSON text. Some texts are `model` with escapes, so that they only look different. */
const nameText = fc.oneof(
  fc.constantFrom('"model"', '"mod\\u0065l"', '"\\u006dodel"', '"models"', '"__proto__"', '"\\"model"', '""'),
  fc.string().map((name) => JSON.stringify(name)),
);
const member = fc.record({ name: nameText, value: valueText, blanks: fc.tuple(blank, blank, blank, blank) });

interface Member {
  name: string;
  value: string;
  blanks: [string, string, string, string];
}

const textOf = (members: readonly Member[], before: string, after: string): string => {
  const texts = members.map(
    ({ name, value, blanks: [first, second, third, fourth] }) =>
      `${first}${name}${second}:${third}${value}${fourth}`,
  );
  return `${before}{${texts.join(',')}}${after}`;
};

const nameOf = ({ name }: Member): string => JSON.parse(name) as string;

const membersOf = fc.uniqueArray(member, { maxLength: 8, selector: (one) => foldedName(nameOf(one)) });

describe('splice', () => {
  it('replaces top-level members, and keeps every other byte', () => {
    fc.assert(
      fc.property(membersOf, blank, blank, valueText, (members, before, after, value) => {
        const others = members.filter((one) => nameOf(one) !== 'model');
        const allMembers = [...others, { ...MODEL, value: '{"model": ["model", "}"]}' }];
        const expected = allMembers.map((one) => (nameOf(one) === 'model' ? { ...one, value } : one));
        expect(splice(textOf(allMembers, before, after), { model: value })).toBe(
          textOf(expected, before, after),
        );
      }),
    );
  });

  it('adds missing members at the end', () => {
    fc.assert(
      fc.property(membersOf, blank, blank, (members, before, after) => {
        const others = members.filter((one) => nameOf(one) !== 'model' && nameOf(one) !== 'stream_options');
        const text = textOf(others, before, after);
        const spliced = splice(text, { model: '"new"', stream_options: '{"a":1}' });
        expect(Object.entries(JSON.parse(spliced) as object).sort()).toEqual(
          Object.entries({ ...parsed(text), model: 'new', stream_options: { a: 1 } }).sort(),
        );
        expect(spliced.startsWith(text.slice(0, text.lastIndexOf('}')).trimEnd())).toBe(true);
      }),
    );
  });

  it.each([
    ['numbers digit for digit', '{"a":12345678901234567890,"b":1.0e+2,"model":1}'],
    ['nested members', '{"a":{"model":1},"b":[{"model":2}],"model":1}'],
    ['texts that look like members', '{"a":"\\"model\\":1","b":"\\\\","c":"{\\"model\\"","model":1}'],
    ['a member named __proto__', '{"__proto__":{"model":1},"constructor":2,"model":1}'],
  ])('keeps %s', (_, text) => {
    expect(splice(text, { model: '"x"' })).toBe(text.replace(/1\}$/, '"x"}'));
  });

  it.each([
    ['{"max_tokens":100000,"max_tokens":1}', '/max_tokens'],
    ['{"a":1,"\\u0061":1}', '/a'],
    ['{"model":1,"Model":2}', '/Model'],
    ['{"max_tokens":1,"max_tokenſ":2}', '/max_tokenſ'],
  ])('rejects %s, because servers differ in which member they read', (text, pointer) => {
    expect(() => splice(text, { model: '1' })).toThrow(expect.objectContaining({ pointer }));
  });

  it('takes linear time for a string of backslashes and for deep nesting', () => {
    const depth = 100_000;
    const nested = `{"a":${'['.repeat(depth)}${']'.repeat(depth)},"model":1}`;
    expect(splice(nested, { model: '2' })).toBe(nested.replace('"model":1', '"model":2'));
    const escaped = `{"a":"${'\\\\'.repeat(500_000)}","model":1}`;
    const startedAt = performance.now();
    expect(splice(escaped, { model: '2' })).toBe(escaped.replace('"model":1', '"model":2'));
    const quoted = `{"a":"${'\\"'.repeat(500_000)}","model":1}`;
    expect(splice(quoted, { model: '2' })).toBe(quoted.replace('"model":1', '"model":2'));
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});

const MODEL: Member = { name: '"model"', value: '1', blanks: ['', '', '', ''] };

const parsed = (text: string): object => JSON.parse(text) as object;
