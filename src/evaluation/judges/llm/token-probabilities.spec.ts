import fc from 'fast-check';
import type { Output } from '../../scorers/definitions/definition.forms';
import { probabilitiesOf } from './token-probabilities';

type Token = [text: string, probability?: number, others?: Record<string, number>];

const token = (text: string, probability: number) => ({ token: text, logprob: Math.log(probability) });
/** Log probabilities as servers return them: each token is among its own alternatives. */
const logprobsOf = (tokens: Token[]) => ({
  content: tokens.map(([text, probability = 1, others = {}]) => ({
    ...token(text, probability),
    top_logprobs: Object.entries({ [text]: probability, ...others }).map(([other, of]) => token(other, of)),
  })),
});
const choiceOf = (...values: string[]): Output => ({
  type: 'choice',
  choices: values.map((value, score) => ({ value, score })),
});
const probabilities = (output: Output, tokens: Token[]) =>
  probabilitiesOf(output, tokens.map(([text]) => text).join(''), logprobsOf(tokens));

const GOOD_BAD = choiceOf('good', 'bad');
const BOOLEAN: Output = { type: 'boolean' };
const AB = choiceOf('a', 'ab', 'b');

describe('probabilitiesOf', () => {
  it.each<[string, Output, Token[], Record<string, number>]>([
    ['the first token decides', GOOD_BAD, [['{"choice":"'], ['go', 0.6, { ba: 0.2, x: 0.2 }], ['od"}', 0.5, { x: 0.5 }]], { good: 0.75, bad: 0.25 }],
    ['a token starts before the answer', GOOD_BAD, [['{"choice":'], [' "good', 0.6, { ' "bad': 0.2, 'x"bad': 0.1 }], ['"}']], { good: 0.75, bad: 0.25 }],
    ['everything is one token', BOOLEAN, [['{"value": true}', 0.9, { '{"value": false}': 0.1 }]], { true: 0.9, false: 0.1 }],
    ['a token has a space before it', BOOLEAN, [['{"value":'], [' false', 0.8, { ' true': 0.2 }], ['}']], { true: 0.2, false: 0.8 }],
    ['choices have a common prefix', choiceOf('very good', 'very bad', 'none'), [['{"choice":"'], ['very', 0.8, { none: 0.2 }], [' good', 0.5, { ' bad': 0.5 }], ['"}']], { 'very good': 0.4, 'very bad': 0.4, none: 0.2 }],
    ['a choice is a prefix of another', AB, [['{"choice":"'], ['a', 0.8, { b: 0.2 }], ['"', 0.25, { b: 0.75 }], ['}']], { a: 0.2, ab: 0.6, b: 0.2 }],
    ['a token completes one choice only', AB, [['{"choice":"'], ['a"', 0.5, { 'ab"': 0.5 }], ['}']], { a: 0.5, ab: 0.5, b: 0 }],
    ['a token does not tell two choices apart', choiceOf('x1', 'x2', 'y'), [['{"choice":"'], ['y', 0.5, { x: 0.5 }], ['"}']], { x1: 0.25, x2: 0.25, y: 0.5 }],
    ['thoughts precede the answer', BOOLEAN, [['<think>"value": '], ['true', 0.5, { false: 0.5 }], ['</think>{"value":'], ['true', 0.9, { false: 0.1 }], ['}']], { true: 0.9, false: 0.1 }],
    ['the reasoning quotes an answer', GOOD_BAD, [['{"reasoning":"not \\"choice\\": \\"'], ['bad', 0.9, { good: 0.1 }], ['\\"","choice":"'], ['good', 0.7, { bad: 0.3 }], ['"}']], { good: 0.7, bad: 0.3 }],
    ['choices are named __proto__ and constructor', choiceOf('__proto__', 'constructor'), [['{"choice":"'], ['__', 0.9, { con: 0.1 }], ['proto__"}']], JSON.parse('{"__proto__":0.9,"constructor":0.1}')],
    ['choices need escapes', choiceOf('a"b', 'a\\'), [['{"choice":"a'], ['\\"b', 0.9, { '\\\\': 0.1 }], ['"}']], { 'a"b': 0.9, 'a\\': 0.1 }],
    ['a token is empty', GOOD_BAD, [['{"choice":"'], ['', 1, {}], ['good', 0.9, { bad: 0.1 }], ['"}']], { good: 0.9, bad: 0.1 }],
  ])('returns probabilities if %s', (_, output, tokens, expected) => {
    const actual = probabilities(output, tokens)!;
    expect(Object.keys(actual).sort()).toEqual(Object.keys(expected).sort());
    for (const [value, of] of Object.entries(expected)) expect(actual[value]).toBeCloseTo(of, 10);
  }); // oxfmt-ignore

  it('supports characters that span several tokens', () => {
    const bytes = (text: string, codes: number[], probability: number) => ({ ...token(text, probability), bytes: codes });
    const [first, second, other] = [bytes('\\xf0\\x9f\\x98', [0xf0, 0x9f, 0x98], 1), bytes('\\x80', [0x80], 0.7), bytes('\\x81', [0x81], 0.3)]; // oxfmt-ignore
    const content = [token('{"choice":"', 1), first, { ...second, top_logprobs: [second, other] }, token('"}', 1)];
    const actual = probabilitiesOf(choiceOf('😀', '😁'), '{"choice":"😀"}', { content })!;
    expect([actual['😀'], actual['😁']]).toEqual([expect.closeTo(0.7, 10), expect.closeTo(0.3, 10)]);
  }); // oxfmt-ignore

  it('returns probabilities that add up to 1 for any tokens', () => {
    const values = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6, unit: fc.constantFrom(...'ab"\\é😀') }), { minLength: 2, maxLength: 6 });
    const splits = fc.array(fc.nat(3), { minLength: 40, maxLength: 40 });
    const others = fc.array(fc.dictionary(fc.string({ unit: fc.constantFrom(...'ab"\\é{') }), fc.double({ min: 0.001, max: 0.5, noNaN: true })), { minLength: 40, maxLength: 40 });
    fc.assert(
      fc.property(values, splits, others, fc.double({ min: 0.01, max: 1, noNaN: true }), (all, lengths, more, probability) => {
        let rest = [...JSON.stringify({ choice: all[0] })];
        const tokens: Token[] = [];
        for (let index = 0; rest.length > 0; index++) {
          const length = 1 + (lengths[index] ?? 0);
          tokens.push([rest.slice(0, length).join(''), probability, more[index] ?? {}]);
          rest = rest.slice(length);
        }
        const entries = Object.entries(probabilities(choiceOf(...all), tokens)!);
        expect(entries.map(([value]) => value).sort()).toEqual([...all].sort());
        expect(entries.reduce((sum, [, one]) => sum + one, 0)).toBeCloseTo(1, 9);
        for (const [value, one] of entries) {
          expect(one).toBeGreaterThanOrEqual(0);
          if (value === all[0]) expect(one).toBeGreaterThan(0);
        }
      }),
    );
  }); // oxfmt-ignore

  it.each<[string, Output, string, unknown]>([
    ['log probabilities are missing', BOOLEAN, '{"value":true}', undefined],
    ['there are no tokens', BOOLEAN, '{"value":true}', { content: [] }],
    ['tokens have another form', BOOLEAN, '{"value":true}', { content: [{ text: 'x' }] }],
    ['a probability is greater than 1', BOOLEAN, '{"value":true}', { content: [{ token: '{"value":true}', logprob: 1 }] }],
    ['the tokens belong to another text', BOOLEAN, '{"value":true}', logprobsOf([['{"value":'], ['false', 0.9], ['}']])],
    ['the tokens end before the answer is determined', AB, '{"choice":"a', logprobsOf([['{"choice":"'], ['a', 0.5, { b: 0.5 }]])],
    ['all probabilities are 0', BOOLEAN, '{"value":true}', { content: [{ token: '{"value":true}', logprob: -9999 }] }],
    ['the model escapes the answer in another way', choiceOf('é', 'b'), '{"choice":"\\u00e9"}', logprobsOf([['{"choice":"'], ['\\u00e9', 0.9, { b: 0.1 }], ['"}']])],
    ['the output is numeric', { type: 'numeric', min: 0, max: 1 }, '{"value":1}', logprobsOf([['{"value":'], ['1', 0.9, { 0: 0.1 }], ['}']])],
  ])('returns undefined if %s', (_, output, text, logprobs) => {
    expect(probabilitiesOf(output, text, logprobs)).toBeUndefined();
  }); // oxfmt-ignore
});
