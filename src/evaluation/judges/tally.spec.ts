import fc from 'fast-check';
import { sha256OfJson } from '#platform/json';
import type { Output } from '../scorers/definitions/definition.forms';
import { JudgeFailure, type Judgement } from './judge-backend';
import { SampleTally, spreadOf, verdictOf } from './tally';

const SERVER = { provider_kind: 'openai', base_url: 'http://judge/v1' } as const;
const judgement = (of: Partial<Judgement>): Judgement => ({
  score: 0,
  requestSha256: '',
  server: SERVER,
  ...of,
});
const CHOICE: Output = {
  type: 'choice',
  choices: [
    { value: 'good', score: 1 },
    { value: 'constructor', score: 0.5 },
    { value: '__proto__', score: 0 },
  ],
};
const BOOLEAN: Output = { type: 'boolean' };
const chosen = (...choices: string[]) => choices.map((choice) => judgement({ choice }));

describe('verdictOf', () => {
  it.each([
    ['the majority', ['__proto__', 'good', '__proto__'], { choice: '__proto__', score: 0, confidence: 2 / 3 }],
    ['the first in the definition if votes tie', ['__proto__', 'good', 'good', '__proto__'], { choice: 'good', score: 1, confidence: 0.5 }],
    ['the unanimous answer', ['constructor', 'constructor'], { choice: 'constructor', score: 0.5, confidence: 1 }],
  ])('returns %s for a choice', (_, choices, verdict) => {
    expect(verdictOf(CHOICE, chosen(...choices))).toEqual(verdict);
  }); // oxfmt-ignore

  it('returns true for a boolean if votes tie', () => {
    const values = [false, true].map((value) => judgement({ value, score: Number(value) }));
    expect(verdictOf(BOOLEAN, values)).toEqual({ score: 1, confidence: 0.5 });
  });

  it('keeps the answer and the score of a single sample', () => {
    const probabilities = { good: 0.6, constructor: 0.4 };
    const one = judgement({ choice: 'good', score: 0.8, probabilities, reasoning: 'so' });
    expect(verdictOf(CHOICE, [one])).toEqual({ score: 0.8, choice: 'good', confidence: 0.6, probabilities, reasoning: 'so' }); // oxfmt-ignore
    expect(verdictOf(CHOICE, chosen('good'))).toEqual({ choice: 'good', score: 0 });
  });

  it('returns the mean of numbers, within their bounds even if the sum overflows', () => {
    const max = 1.7e308;
    const bounded = fc.array(fc.double({ min: -max, max, noNaN: true }), { minLength: 1, maxLength: 20 });
    const small = fc.array(fc.double({ min: 0.1, max: 0.3, noNaN: true }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(fc.oneof(bounded, small), (values) => {
        const [low, high] = [Math.min(...values), Math.max(...values)];
        const output: Output = { type: 'numeric', min: low, max: high };
        const { score, confidence } = verdictOf(output, values.map((value) => judgement({ value, score: value }))); // oxfmt-ignore
        expect(score).toBeGreaterThanOrEqual(low);
        expect(score).toBeLessThanOrEqual(high);
        expect(confidence).toBeUndefined();
      }),
      { numRuns: 2_000 },
    );
  });

  it('combines each question separately', () => {
    const output: Output = {
      type: 'questions',
      questions: [
        { key: '__proto__', question: '?', output: CHOICE as never },
        { key: 'n', question: '?', output: { type: 'numeric', min: 0, max: 10 } },
      ],
    };
    const answered = ['["good",1]', '["good",0]', '["__proto__",0.5]'].map((text) => {
      const [choice, n] = JSON.parse(text) as [string, number];
      return judgement({ answers: Object.fromEntries([['__proto__', choice], ['n', n]]), score: n, reasoning: text }); // oxfmt-ignore
    });
    const verdict = verdictOf(output, answered);
    expect(Object.entries(verdict.answers!)).toEqual([['__proto__', 'good'], ['n', 0.5]]); // oxfmt-ignore
    expect([verdict.score, verdict.confidence, verdict.reasoning]).toEqual([0.75, undefined, '["good",1]']);
  });

  it('takes the reasoning of a sample that agrees, or else of the nearest one', () => {
    const [a, b, c] = [1, 4, 5].map((value) => judgement({ value, score: value, reasoning: `${value}` }));
    expect(verdictOf({ type: 'numeric', min: 0, max: 5 }, [a!, b!, c!]).reasoning).toBe('4');
    const samples = ['good', 'good', '__proto__'].map((choice, index) =>
      judgement({ choice, ...(index > 0 && { reasoning: `${index}` }) }),
    );
    expect(verdictOf(CHOICE, samples.reverse()).reasoning).toBe('1');
  });

  it('averages the probabilities of the samples that have any, and takes the confidence from them', () => {
    const [some, other] = [{ true: 0.9, false: 0.1 }, { true: 0.4, false: 0.6 }]; // oxfmt-ignore
    const samples = [{ value: true, probabilities: some }, { value: false, probabilities: other }, { value: true }];
    const verdict = verdictOf(BOOLEAN, samples.map((one) => judgement(one)));
    expect(verdict).toEqual({
      ...{ score: 1, confidence: expect.closeTo(0.65, 10) },
      probabilities: { true: expect.closeTo(0.65, 10), false: expect.closeTo(0.35, 10) },
    });
  }); // oxfmt-ignore
});

describe('spreadOf', () => {
  it.each<[number[], number, number | null]>([
    [[], 1, null],
    [[3], 3, null],
    [[2, 2, 2], 3, 0],
    [[1, 2, 3, 4], 5, Math.sqrt(5 / 3)],
    [[1e300, -1e300], 2, Math.SQRT2 * 1e300],
    [[1e-300, 3e-300], 2, Math.SQRT2 * 1e-300],
    [[1.7e308, -1.7e308, -1.7e308], 3, null],
  ])('returns the standard deviation of the scores %j', (scores, requested, spread) => {
    const actual = spreadOf(scores.map((score) => judgement({ score })), requested); // oxfmt-ignore
    expect(actual).toMatchObject({ count: requested, failed_count: requested - scores.length, scores });
    if (spread === null) expect(actual.spread).toBeNull();
    else expect(actual.spread! / (spread || 1)).toBeCloseTo(spread && 1, 10);
  });
});

describe('SampleTally', () => {
  const DEFINITION = { prompt: 'Is {{output}} right?', output: BOOLEAN };
  const itemOf = (...samples: Partial<Judgement>[]) => {
    const tally = new SampleTally(samples.length);
    for (const one of samples) tally.addAnswer(judgement({ value: true, score: 1, ...one }));
    return tally.item(DEFINITION, '');
  };

  it('has the digest of the definition and of what answered', () => {
    const digest = sha256OfJson({ definition: DEFINITION, backend: 'llm', ...SERVER, model: 'm-1' });
    expect(itemOf({ model: 'm-1' })).toMatchObject({ model: 'm-1', judge_digest: digest });
    const others = [
      itemOf({ model: 'm-2' }),
      itemOf({}),
      itemOf({ model: 'm-1', server: { ...SERVER, base_url: 'http://other/v1' } }),
      itemOf({ model: 'm-1', server: { ...SERVER, provider_kind: 'anthropic' } }),
    ];
    expect(new Set([digest, ...others.map((one) => one.judge_digest)]).size).toBe(5);
  });

  it('has one digest for the same models of several samples, in any order', () => {
    const [a, b] = [{ model: 'm-1' }, { model: 'm-2' }];
    expect(itemOf(a, a).judge_digest).toBe(itemOf(a).judge_digest);
    expect(itemOf(b, a, b)).toMatchObject({ model: 'm-1, m-2', judge_digest: itemOf(a, b).judge_digest });
    expect(itemOf(a, b).judge_digest).not.toBe(itemOf(a).judge_digest);
  });

  it('accepts a name that has no canonical form', () => {
    expect(itemOf({ model: 'm\ud800' })).toMatchObject({
      model: 'm\ufffd',
      judge_digest: expect.any(String) as string,
    });
  });

  it('has neither model nor digest without an answer', () => {
    const tally = new SampleTally(1);
    tally.addFailure(new JudgeFailure('no'));
    expect(tally.item(DEFINITION, '')).toEqual({ error: 'no', request_sha256: '' });
  });
});
