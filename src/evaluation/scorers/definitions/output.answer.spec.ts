import { Problem } from '#platform/problem';
import type { Output } from './definition.forms';
import { type AnswerInput, readAnswer, scoreOfAnswer } from './output.answer';

const numeric = (key: string) => ({
  key,
  question: 'How much?',
  output: { type: 'numeric' as const, min: -1.7e308, max: 1.7e308 },
});
const questions = (...keys: string[]): Output => ({ type: 'questions', questions: keys.map(numeric) });

const refusal = (output: Output, input: AnswerInput): unknown => {
  try {
    return scoreOfAnswer(output, input);
  } catch (error) {
    if (error instanceof Problem)
      return [error.status, ...(error.errors ?? []).map((one) => JSON.stringify(one))];
    throw error;
  }
};

describe('readAnswer', () => {
  it('computes a finite score for questions, even if the sum of their scores is infinite', () => {
    const answers = { a: 1.7e308, b: 1.7e308, c: 1.7e308 };
    expect(scoreOfAnswer(questions('a', 'b', 'c'), { answers }).score).toBeCloseTo(1.7e308, -300);
  });

  it('counts each question once, even if its key is a member of Object.prototype', () => {
    const answers = JSON.parse('{"constructor": 1, "__proto__": 3, "toString": 5}') as object;
    const read = scoreOfAnswer(questions('__proto__', 'constructor', 'toString'), { answers });
    expect(read.score).toBe(3);
    expect(Object.entries(read.answer.answers!)).toEqual([
      ['__proto__', 3],
      ['constructor', 1],
      ['toString', 5],
    ]);
  });

  it('does not read members of Object.prototype as answers', () => {
    expect(refusal(questions('constructor'), { answers: {} })).toEqual([
      400,
      expect.stringContaining('/answers/constructor'),
    ]);
  });

  it('checks the form first, then unknown values', () => {
    const choice: Output = {
      type: 'choice',
      choices: [
        { value: 'yes', score: 1 },
        { value: 'no', score: 0 },
      ],
    };
    const both: Output = {
      type: 'questions',
      questions: [{ key: 'a', question: '?', output: choice as never }, numeric('b')],
    };
    expect(refusal(both, { answers: { a: 'perhaps', b: 'x' } })).toEqual([
      400,
      expect.stringContaining('/answers/b'),
    ]);
    const reading = readAnswer(both, { answers: { a: 'perhaps', b: 1 } });
    expect(() => reading.scored()).toThrow(expect.objectContaining({ status: 422 }) as Error);
  });

  it('truncates the list of choices in a message', () => {
    const choices = Array.from({ length: 100 }, (_, index) => ({
      value: `${index}`.padEnd(255, 'x'),
      score: index,
    }));
    const [status, error] = refusal({ type: 'choice', choices }, { choice: 'y' }) as [number, string];
    expect([status, error.length < 1_200]).toEqual([422, true]);
  });
});
