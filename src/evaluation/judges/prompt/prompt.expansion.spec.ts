import { RawJson } from '#platform/json';
import type { ScoringSubject } from '../../scorers/engine/score-outcome';
import { CannotJudge } from '../judge-backend';
import { expandPrompt } from './prompt.expansion';
import { parsePrompt } from '../../scorers/definitions/prompt.template';

const NOTHING = { input: null, output: null, expected: null, metadata: null, trace: null, session: null };

const expand = (template: string, subject: Partial<ScoringSubject>, textMax = 1e6) =>
  expandPrompt(parsePrompt(template), { ...NOTHING, ...subject }, textMax);

/** What is judged, in brackets, among the scorer's own words. */
const text = (template: string, subject: Partial<ScoringSubject>): string =>
  expand(template, subject)
    .map((piece) => ('own' in piece ? piece.own : `[${piece.data}]`))
    .join('');

const json = (text: string) => new RawJson(text);

describe('a prompt with a subject in it', () => {
  it.each<[string, string, Partial<ScoringSubject>, string]>([
    ['a text as it is', '{{input}}', { input: '<b>&"\n{{output}}' }, '[<b>&"\n{{output}}]'],
    ['a stored text as its value', '{{input}}', { input: json('"a\\nb"') }, '[a\nb]'],
    ['an object as its JSON', '{{input}}', { input: { a: [1, 'x'] } }, '[{"a":[1,"x"]}]'],
    ['a stored object, with its members as they are', '{{input}}', { input: json('{"b":1,"1":0}') }, '[{"b":1,"1":0}]'],
    ['false and zero as what they are', '{{input}}{{output}}', { input: false, output: 0 }, '[false][0]'],
    ['null as nothing', 'a{{expected}}b', {}, 'a[]b'],
    ['what is not there as nothing', 'a{{input.x[3].y}}b', { input: { x: [] } }, 'a[]b'],
    ['a value within stored JSON', '{{metadata.a[-1].b}}', { metadata: json('{"a":[1,{"b":"x"}]}') }, '[x]'],
    ['nothing that every object has', '{{input.__proto__}}{{input.constructor.name}}{{input.length}}', { input: {} }, '[][][]'],
    ['such a name where it is data', '{{input.__proto__.x}}', { input: json('{"__proto__":{"x":1}}') }, '[1]'],
    ['nothing of a text', '{{#input}}{{length}}{{toString}}{{/input}}', { input: 'abc' }, '[][]'],
    ['each item of a list', '{{#input}}{{.}},{{/input}}', { input: json('["a",2,null,{"b":3}]') }, '[a],[2],[],[{"b":3}],'],
    ['what is in stored items of a list', '{{#input}}{{a}}{{/input}}', { input: [json('{"a":1}')] }, '[1]'],
    ['a section of what is there once', '{{#input}}{{a}}{{output}}{{/input}}', { input: { a: 1 }, output: 'o' }, '[1][o]'],
    ['the innermost of the same name', '{{#input}}{{#a}}{{b}}{{c}}{{/a}}{{/input}}', { input: { b: 1, c: 2, a: { b: 3 } } }, '[3][2]'],
    ['a variable that a section hides, by $', '{{#input}}{{output}}{{$.output}}{{/input}}', { input: { output: 'i' }, output: 'o' }, '[i][o]'],
    ['no section of what is not there', '{{#input}}x{{/input}}{{#output}}y{{/output}}', { input: [], output: '' }, ''],
    ['what is said instead', '{{^input}}x{{/input}}{{^output}}y{{/output}}', { input: json('[]'), output: 'o' }, 'x'],
  ])('has %s', (_, template, subject, expected) => {
    expect(text(template, subject)).toBe(expected);
  }); // prettier-ignore

  it('shows sessions and traces as transcripts, what is in them as JSON, and a list of sessions is none', () => {
    const trace = { input: json('"q"'), output: json('"a"'), spans: [] };
    const session = { messages: [{ role: 'user', content: 'hi' }] };
    expect(text('{{trace}}|{{session}}|{{session.messages}}|{{trace.spans}}', { trace, session })).toBe(
      '[[user]\n  q\n\n[assistant]\n  a]|[[user]\n  hi]|[[{"role":"user","content":"hi"}]]|[[]]',
    );
    expect(text('{{session}}', { session: [] })).toBe('[[]]');
  });

  it('never takes what is judged for a template', () => {
    const pieces = expand('{{#input}}{{.}}{{/input}}', { input: ['{{output}}', '{{#input}}'], output: 'no' });
    expect(pieces).toEqual([{ data: '{{output}}' }, { data: '{{#input}}' }]);
  });

  const list = json(JSON.stringify(new Array(1_000).fill(1)));
  it.each<[string, string, Partial<ScoringSubject>, RegExp]>([
    ['rounds within rounds', '{{#input}}'.repeat(16).replaceAll('{{#input}}', '{{#$.input}}') + '{{/$.input}}'.repeat(16), { input: list }, /sections of the prompt repeat/],
    ['thousands of empty sections in each round', `{{#input}}${'{{#a}}{{/a}}'.repeat(5_000)}{{/input}}`, { input: list }, /sections of the prompt repeat/],
    ['more values than anybody reads', '{{#input}}{{#$.input}}{{.}}{{/$.input}}{{/input}}', { input: list }, /more than 10000 values/],
    ['more of its own words than the judge can read', '{{#input}}a word {{/input}}', { input: list }, /too long for the judge/],
  ])('is refused where it has %s', (_, template, subject, why) => {
    const expanded = () => expand(template, subject, 5_000);
    expect(expanded).toThrow(CannotJudge);
    expect(expanded).toThrow(why);
  }); // prettier-ignore

  it('is refused where it asks for a large value with each of its parts, and not where for the same again', () => {
    const deep = Array.from({ length: 60 }).reduce<unknown>((inner) => ({ a: inner }), 'x'.repeat(1_000_000));
    const each = Array.from({ length: 60 }, (_, depth) => `{{input${'.a'.repeat(depth)}}}`).join('');
    expect(() => expand(each, { input: deep })).toThrow(/more than 33554432 characters of JSON/);
    expect(expand('{{input}}'.repeat(60), { input: deep })).toHaveLength(60);
  });
});
