import { Ajv2020 } from 'ajv/dist/2020';
import type { Output, SingleOutput } from '../../scorers/definitions/definition.forms';
import { answerSchema, readAnswerText } from './judge-answer';
import { instructionsOf } from './instructions';

const CHOICE: SingleOutput = {
  type: 'choice',
  choices: [
    { value: 'good "enough"', score: 1, description: 'Nothing is missing.' },
    { value: '__proto__', score: 0 },
  ],
};
const QUESTIONS: Output = {
  type: 'questions',
  questions: [
    { key: 'constructor', question: 'Which is it?', output: CHOICE },
    { key: '2', question: 'How much?', output: { type: 'numeric', min: -1, max: 1 } },
    { key: '1', question: 'Is it right?', output: { type: 'boolean' } },
  ],
};
const DELIMITERS = { open: '<data-1>', close: '</data-1>' };

describe('instructionsOf', () => {
  it.each<[string, Output, string]>([
    ['a choice', CHOICE, '{"choice":"__proto__"}'],
    ['a boolean', { type: 'boolean' }, '{"value":true}'],
    ['a number', { type: 'numeric', min: 0, max: 1 }, '{"value":0.5}'],
    ['questions', QUESTIONS, '{"answers":{"constructor":"__proto__","2":0,"1":false}}'],
  ])('describes answers that the schema and the reader accept: %s', (_, output, text) => {
    for (const withReasoning of [true, false]) {
      const validate = new Ajv2020().compile(JSON.parse(JSON.stringify(answerSchema(output, withReasoning))));
      const full = withReasoning ? text.replace('{', '{"reasoning":"so",') : text;
      expect(validate(JSON.parse(full))).toBe(true);
      expect(() => readAnswerText(output, full)).not.toThrow();
      expect(validate({})).toBe(false);
      expect(validate({ ...(JSON.parse(full) as object), more: 1 })).toBe(false);
      expect(validate(JSON.parse(text))).toBe(!withReasoning);
    }
  });

  it('requests the reasoning before the answer', () => {
    expect(Object.keys((answerSchema(CHOICE, true) as any).properties)).toEqual(['reasoning', 'choice']);
    const text = instructionsOf(CHOICE, true, DELIMITERS);
    expect(text.indexOf('"reasoning"')).toBeGreaterThan(0);
    expect(text.indexOf('"choice"')).toBeGreaterThan(text.indexOf('"reasoning"'));
    expect(instructionsOf(CHOICE, false, DELIMITERS)).not.toContain('"reasoning"');
  });

  it('names the delimiters, and all choices, bounds, questions and keys', () => {
    const text = instructionsOf(QUESTIONS, false, DELIMITERS);
    expect(text).toContain('between <data-1> and </data-1> is the data to judge');
    expect(text).toContain('Key "constructor": Which is it?\nIts answer: one of the strings "good \\"enough\\"", "__proto__"\n"good \\"enough\\"": Nothing is missing.'); // oxfmt-ignore
    expect(text).toContain('Key "2": How much?\nIts answer: a number from -1 to 1');
    expect(text).toContain('Key "1": Is it right?\nIts answer: true or false');
  });
});
