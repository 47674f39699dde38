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

describe('what a judge is told to answer', () => {
  it.each<[string, Output, string]>([
    ['a choice', CHOICE, '{"choice":"__proto__"}'],
    ['a boolean', { type: 'boolean' }, '{"value":true}'],
    ['a number', { type: 'numeric', min: 0, max: 1 }, '{"value":0.5}'],
    ['questions', QUESTIONS, '{"answers":{"constructor":"__proto__","2":0,"1":false}}'],
  ])('is held to the same form by the schema as by its reader: %s', (_, output, text) => {
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

  it('asks for the reasons before the answer, which they are to decide', () => {
    expect(Object.keys((answerSchema(CHOICE, true) as any).properties)).toEqual(['reasoning', 'choice']);
    const told = instructionsOf(CHOICE, true, DELIMITERS);
    expect(told.indexOf('"reasoning"')).toBeGreaterThan(0);
    expect(told.indexOf('"choice"')).toBeGreaterThan(told.indexOf('"reasoning"'));
    expect(instructionsOf(CHOICE, false, DELIMITERS)).not.toContain('"reasoning"');
  });

  it('names the delimiters, every choice as it is written, every bound, question and key', () => {
    const told = instructionsOf(QUESTIONS, false, DELIMITERS);
    expect(told).toContain('between <data-1> and </data-1> is what is judged');
    expect(told).toContain('Key "constructor": Which is it?\nIts answer: one of the strings "good \\"enough\\"", "__proto__"\n"good \\"enough\\"": Nothing is missing.'); // prettier-ignore
    expect(told).toContain('Key "2": How much?\nIts answer: a number from -1 to 1');
    expect(told).toContain('Key "1": Is it right?\nIts answer: true or false');
  });
});
