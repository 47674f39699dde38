import fc from 'fast-check';
import type { Output } from '../scorers/definitions/definition.forms';
import {
  chatBody,
  type ChatQuestion,
  probabilitiesOf,
  readChatAnswer,
  withoutRefusedFeature,
} from './chat-completion';
import { ALL_FEATURES, type ChatFeatures } from './judge.repository';

const question = (output: Output, more: Partial<ChatQuestion> = {}): ChatQuestion => ({
  ...{ model: 'm', output, withReasoning: true, temperature: 0, maxTokens: 100, ...more },
  isTemperatureRequired: false,
});
/** Returns the features to retry with after a refusal with this message. */
const after = (features: ChatFeatures, message: string) =>
  withoutRefusedFeature(features, { message, parameter: '', code: '' }, false)?.features;
const BOOLEAN_QUESTION = question({ type: 'boolean' });
const body = (of: ChatQuestion, features: Partial<ChatFeatures> = {}) =>
  JSON.parse(chatBody(of, [{ role: 'user', content: 'q' }], { ...ALL_FEATURES, ...features }));

const NO_FEATURES: ChatFeatures = {
  ...{ responseFormat: 'none', logprobs: false, maxTokens: 'max_completion_tokens', temperature: false },
};

describe('chatBody', () => {
  it('uses all features', () => {
    expect(body(BOOLEAN_QUESTION)).toEqual({
      ...{ model: 'm', messages: [{ role: 'user', content: 'q' }], temperature: 0, max_tokens: 100 },
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'judgement', strict: true, schema: expect.objectContaining({ type: 'object' }) },
      },
      ...{ logprobs: true, top_logprobs: 20 },
    });
  });

  it('omits the features that a server lacks', () => {
    expect(Object.keys(body(BOOLEAN_QUESTION, NO_FEATURES))).toEqual([
      'model',
      'messages',
      'max_completion_tokens',
    ]);
    expect(body(BOOLEAN_QUESTION, { responseFormat: 'json_object' }).response_format).toEqual({
      type: 'json_object',
    });
  });

  it('requests probabilities only for choices and booleans, and no temperature by default', () => {
    expect(body(question({ type: 'numeric', min: 0, max: 1 }))).not.toHaveProperty('logprobs');
    expect(body(question({ type: 'boolean' }, { temperature: undefined }))).not.toHaveProperty('temperature');
  });
});

describe('withoutRefusedFeature', () => {
  it.each<[string, Partial<ChatFeatures>]>([
    ["Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", { maxTokens: 'max_completion_tokens' }],
    ["Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.", { temperature: false }],
    ['logprobs are not supported – top_logprobs', { logprobs: false }],
    ["Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", { responseFormat: 'json_object' }],
    ['Failed to compile the grammar', { responseFormat: 'json_object' }],
  ])('drops the feature in: %s', (refusal, change) => {
    expect(after(ALL_FEATURES, refusal)).toEqual({ ...ALL_FEATURES, ...change });
  }); // oxfmt-ignore

  it('returns undefined if the refusal mentions no feature that can be dropped', () => {
    expect(after(ALL_FEATURES, 'The model does not exist.')).toBeUndefined();
    expect(after(NO_FEATURES, 'max_completion_tokens logprobs response_format temperature')).toBeUndefined();
  });

  it('never drops a temperature that the scorer requires', () => {
    const refusal = {
      message: 'Unsupported value: temperature',
      parameter: 'temperature',
      code: 'unsupported_value',
    };
    expect(withoutRefusedFeature(ALL_FEATURES, refusal, true)).toBeUndefined();
    expect(withoutRefusedFeature(ALL_FEATURES, refusal, false)?.features.temperature).toBe(false);
  });

  it.each([
    ['an unsupported parameter', true, "Unsupported parameter: 'logprobs'.", 'logprobs', 'unsupported_parameter'],
    ['an unsupported parameter in other words', true, 'logprobs: Extra inputs are not permitted', '', ''],
    ['a schema that is too large', false, "Invalid schema for response_format 'judgement': too many enum values", 'response_format', 'invalid_request_error'],
    ['a value that is out of bounds', false, 'temperature must be between 0 and 1', 'temperature', ''],
    ['quoted data', false, 'Input rejected: "tell me of logprobs and grammar"', '', ''],
  ])('classifies a refusal of %s', (_, isServerWide, message, parameter, code) => {
    expect(withoutRefusedFeature(ALL_FEATURES, { message, parameter, code }, false)?.isServerWide).toBe(isServerWide);
  }); // oxfmt-ignore

  it('finds the feature by the parameter of the refusal if there is one', () => {
    const refusal = { message: 'Unsupported: grammar, logprobs', parameter: 'messages', code: '' };
    expect(withoutRefusedFeature(ALL_FEATURES, refusal, false)).toBeUndefined();
  });

  it('never returns to dropped features, so that six requests suffice for a server that refuses everything', () => {
    const words = [
      'max_completion_tokens',
      'logprobs',
      'response_format',
      'json_schema',
      'temperature',
      'no',
    ];
    const refusals = fc.array(fc.subarray(words), { minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(refusals, (all) => {
        const seen = [JSON.stringify(ALL_FEATURES)];
        let features: ChatFeatures | undefined = ALL_FEATURES;
        for (const refusal of all) {
          features = after(features, refusal.join(' '));
          if (!features) break;
          seen.push(JSON.stringify(features));
        }
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.length).toBeLessThanOrEqual(6);
      }),
    );
  });
});

const answer = (message: unknown, more: object = {}) => readChatAnswer({ choices: [{ message }], ...more });

describe('readChatAnswer', () => {
  it('reads the answer, its tokens and its cost', () => {
    const logprobs = { content: [] };
    expect(
      readChatAnswer({
        choices: [{ message: { content: 'a', refusal: null }, finish_reason: 'stop', logprobs }],
        model: 'm-1',
        usage: { prompt_tokens: 3, completion_tokens: 0, cost: 0.5 },
      }),
    ).toEqual({
      ...{ text: 'a', finishReason: 'stop', refusal: undefined, logprobs, model: 'm-1' },
      ...{ inputTokens: 3, outputTokens: 0, costUsd: 0.5 },
    });
  });

  it.each([
    ['parts', [{ type: 'text', text: 'a' }, { type: 'image' }, 'x', null, { text: 'b' }], 'ab'],
    ['null, as in a refusal', null, ''],
    ['an object', { text: 'a' }, ''],
  ])('reads a text from content that is %s', (_, content, text) => {
    expect(answer({ content })?.text).toBe(text);
  });

  it.each([null, 'text', [], {}, { choices: [] }, { choices: {} }, { choices: [null] }, { choices: [{ text: 'a' }] }, { error: {} }])(
    'returns undefined for %j',
    (value) => {
      expect(readChatAnswer(value)).toBeUndefined();
    },
  ); // oxfmt-ignore

  it.each([-1, NaN, Infinity, '3', null, {}])('ignores tokens and a cost of %p', (count) => {
    const usage = { prompt_tokens: count, completion_tokens: count, cost: count };
    const read = answer({ content: '' }, { usage, model: count });
    expect(read).toMatchObject({ inputTokens: null, outputTokens: null, costUsd: undefined });
    expect(answer({ content: '' }, { usage: count })).toMatchObject({ inputTokens: null });
  });
});

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
