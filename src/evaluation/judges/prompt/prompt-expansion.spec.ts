import { RawJson } from '#platform/json';
import type { ScoringSubject } from '../../scorers/engine/subject';
import { PromptError } from '../judge-backend';
import { expandPrompt } from './prompt-expansion';
import { parsePrompt } from '../../scorers/definitions/prompt.template';

const NOTHING = { input: null, output: null, expected: null, metadata: null, trace: null, session: null };

const expand = (template: string, subject: Partial<ScoringSubject>, textMax = 1e6) =>
  expandPrompt(parsePrompt(template), { ...NOTHING, ...subject }, textMax);

/** Returns an expanded prompt, with its data in brackets. */
const text = (template: string, subject: Partial<ScoringSubject>): string =>
  expand(template, subject)
    .map((piece) => ('text' in piece ? piece.text : `[${piece.data}]`))
    .join('');

const json = (text: string) => new RawJson(text);

describe('expandPrompt', () => {
  it.each<[string, string, Partial<ScoringSubject>, string]>([
    ['a text as it is', '{{input}}', { input: '<b>&"\n{{output}}' }, '[<b>&"\n{{output}}]'],
    ['a stored text as its value', '{{input}}', { input: json('"a\\nb"') }, '[a\nb]'],
    ['an object as its JSON', '{{input}}', { input: { a: [1, 'x'] } }, '[{"a":[1,"x"]}]'],
    ['a stored object verbatim', '{{input}}', { input: json('{"b":1,"1":0}') }, '[{"b":1,"1":0}]'],
    ['false and zero', '{{input}}{{output}}', { input: false, output: 0 }, '[false][0]'],
    ['null as nothing', 'a{{expected}}b', {}, 'a[]b'],
    ['a missing member as nothing', 'a{{input.x[3].y}}b', { input: { x: [] } }, 'a[]b'],
    ['a member of stored JSON', '{{metadata.a[-1].b}}', { metadata: json('{"a":[1,{"b":"x"}]}') }, '[x]'],
    ['inherited members as nothing', '{{input.__proto__}}{{input.constructor.name}}{{input.length}}', { input: {} }, '[][][]'],
    ['an own member named __proto__', '{{input.__proto__.x}}', { input: json('{"__proto__":{"x":1}}') }, '[1]'],
    ['members of a text as nothing', '{{#input}}{{length}}{{toString}}{{/input}}', { input: 'abc' }, '[][]'],
    ['each item of a list', '{{#input}}{{.}},{{/input}}', { input: json('["a",2,null,{"b":3}]') }, '[a],[2],[],[{"b":3}],'],
    ['a member of each stored item', '{{#input}}{{a}}{{/input}}', { input: [json('{"a":1}')] }, '[1]'],
    ['a section over an object once', '{{#input}}{{a}}{{output}}{{/input}}', { input: { a: 1 }, output: 'o' }, '[1][o]'],
    ['the innermost member of a name', '{{#input}}{{#a}}{{b}}{{c}}{{/a}}{{/input}}', { input: { b: 1, c: 2, a: { b: 3 } } }, '[3][2]'],
    ['a hidden variable by $', '{{#input}}{{output}}{{$.output}}{{/input}}', { input: { output: 'i' }, output: 'o' }, '[i][o]'],
    ['no section over an empty value', '{{#input}}x{{/input}}{{#output}}y{{/output}}', { input: [], output: '' }, ''],
    ['an inverted section', '{{^input}}x{{/input}}{{^output}}y{{/output}}', { input: json('[]'), output: 'o' }, 'x'],
  ])('inserts %s', (_, template, subject, expected) => {
    expect(text(template, subject)).toBe(expected);
  }); // oxfmt-ignore

  it('inserts sessions and traces as transcripts, and their members as JSON', () => {
    const trace = { input: json('"q"'), output: json('"a"'), spans: [] };
    const session = { messages: [{ role: 'user', content: 'hi' }] };
    expect(text('{{trace}}|{{session}}|{{session.messages}}|{{trace.spans}}', { trace, session })).toBe(
      '[[user]\n  q\n\n[assistant]\n  a]|[[user]\n  hi]|[[{"role":"user","content":"hi"}]]|[[]]',
    );
    expect(text('{{session}}', { session: [] })).toBe('[[]]');
  });

  it('never expands data', () => {
    const pieces = expand('{{#input}}{{.}}{{/input}}', { input: ['{{output}}', '{{#input}}'], output: 'no' });
    expect(pieces).toEqual([{ data: '{{output}}' }, { data: '{{#input}}' }]);
  });

  const list = json(JSON.stringify(new Array(1_000).fill(1)));
  it.each<[string, string, Partial<ScoringSubject>, RegExp]>([
    ['nested repetitions', '{{#input}}'.repeat(16).replaceAll('{{#input}}', '{{#$.input}}') + '{{/$.input}}'.repeat(16), { input: list }, /sections of the prompt repeat/],
    ['thousands of empty sections in each repetition', `{{#input}}${'{{#a}}{{/a}}'.repeat(5_000)}{{/input}}`, { input: list }, /sections of the prompt repeat/],
    ['too many values', '{{#input}}{{#$.input}}{{.}}{{/$.input}}{{/input}}', { input: list }, /more than 10000 values/],
    ['too much text', '{{#input}}a word {{/input}}', { input: list }, /too long for the judge/],
  ])('refuses %s', (_, template, subject, why) => {
    const expanded = () => expand(template, subject, 5_000);
    expect(expanded).toThrow(PromptError);
    expect(expanded).toThrow(why);
  }); // oxfmt-ignore

  it('refuses a large value with each of its members, but not the same value repeatedly', () => {
    const deep = Array.from({ length: 60 }).reduce<unknown>((inner) => ({ a: inner }), 'x'.repeat(1_000_000));
    const each = Array.from({ length: 60 }, (_, depth) => `{{input${'.a'.repeat(depth)}}}`).join('');
    expect(() => expand(each, { input: deep })).toThrow(/more than 33554432 characters of JSON/);
    expect(expand('{{input}}'.repeat(60), { input: deep })).toHaveLength(60);
  });
});
