import { Ajv2020 } from 'ajv/dist/2020';
import type { Output, SingleOutput } from '../scorers/definitions/definition.forms';
import { answerSchema, instructionsOf, readAnswerText, UnreadableAnswer } from './judge-answer';

const DESCRIBED_CHOICE: SingleOutput = {
  type: 'choice',
  choices: [
    { value: 'good "enough"', score: 1, description: 'Nothing is missing.' },
    { value: '__proto__', score: 0 },
  ],
};
const DESCRIBED_QUESTIONS: Output = {
  type: 'questions',
  questions: [
    { key: 'constructor', question: 'Which is it?', output: DESCRIBED_CHOICE },
    { key: '2', question: 'How much?', output: { type: 'numeric', min: -1, max: 1 } },
    { key: '1', question: 'Is it right?', output: { type: 'boolean' } },
  ],
};
const DELIMITERS = { open: '<data-1>', close: '</data-1>' };

describe('instructionsOf', () => {
  it.each<[string, Output, string]>([
    ['a choice', DESCRIBED_CHOICE, '{"choice":"__proto__"}'],
    ['a boolean', { type: 'boolean' }, '{"value":true}'],
    ['a number', { type: 'numeric', min: 0, max: 1 }, '{"value":0.5}'],
    ['questions', DESCRIBED_QUESTIONS, '{"answers":{"constructor":"__proto__","2":0,"1":false}}'],
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
    expect(Object.keys((answerSchema(DESCRIBED_CHOICE, true) as any).properties)).toEqual([
      'reasoning',
      'choice',
    ]);
    const text = instructionsOf(DESCRIBED_CHOICE, true, DELIMITERS);
    expect(text.indexOf('"reasoning"')).toBeGreaterThan(0);
    expect(text.indexOf('"choice"')).toBeGreaterThan(text.indexOf('"reasoning"'));
    expect(instructionsOf(DESCRIBED_CHOICE, false, DELIMITERS)).not.toContain('"reasoning"');
  });

  it('names the delimiters, and all choices, bounds, questions and keys', () => {
    const text = instructionsOf(DESCRIBED_QUESTIONS, false, DELIMITERS);
    expect(text).toContain('between <data-1> and </data-1> is the data to judge');
    expect(text).toContain('Key "constructor": Which is it?\nIts answer: one of the strings "good \\"enough\\"", "__proto__"\n"good \\"enough\\"": Nothing is missing.'); // oxfmt-ignore
    expect(text).toContain('Key "2": How much?\nIts answer: a number from -1 to 1');
    expect(text).toContain('Key "1": Is it right?\nIts answer: true or false');
  });
});

const CHOICE: Output = {
  type: 'choice',
  choices: [
    { value: 'good', score: 1 },
    { value: '__proto__', score: 0.5 },
    { value: '</think>', score: 0 },
  ],
};
const BOOLEAN: Output = { type: 'boolean' };
const NUMERIC: Output = { type: 'numeric', min: 0, max: 5 };
const QUESTIONS: Output = {
  type: 'questions',
  questions: [
    { key: '__proto__', question: '?', output: BOOLEAN },
    { key: 'constructor', question: '?', output: NUMERIC },
  ],
};
const answers = '{"answers":{"__proto__":true,"constructor":3}}';

describe('readAnswerText', () => {
  it.each<[string, Output, string, object]>([
    ['a choice', CHOICE, '{"choice":"good"}', { choice: 'good', score: 1 }],
    ['a choice named __proto__', CHOICE, '{"choice":"__proto__"}', { choice: '__proto__', score: 0.5 }],
    ['a boolean with reasoning', BOOLEAN, ' {"reasoning":"so","value":false}\n', { value: false, score: 0, reasoning: 'so' }],
    ['a number', NUMERIC, '{"value":4.5}', { value: 4.5, score: 4.5 }],
    ['reasoning that is not a text', NUMERIC, '{"reasoning":["x"],"value":0}', { value: 0, score: 0 }],
    ['an answer in a fence', BOOLEAN, '```json\n{"value":true}\n```', { value: true, score: 1 }],
    ['an answer in a fence with CRLF', BOOLEAN, '```JSON \r\n{"value":true}\r\n```\r\n', { value: true, score: 1 }],
    ['an answer after thoughts', BOOLEAN, '\n<think>{"value":false}?\n</think>\n```\n{"value":true}```', { value: true, score: 1 }],
    ['an answer after thoughts without a start tag', BOOLEAN, 'Well …\n</think>\n\n{"value":true}', { value: true, score: 1 }],
    ['an answer that quotes the tags of thoughts', CHOICE, '{"reasoning":"<think>","choice":"</think>"}', { choice: '</think>', score: 0, reasoning: '<think>' }],
    ['an answer with further members', CHOICE, '{"choice":"good","score":7,"value":3,"x":{}}', { choice: 'good', score: 1 }],
  ])('reads %s', (_, output, text, read) => {
    expect(readAnswerText(output, text)).toEqual(read);
  }); // oxfmt-ignore

  it('reads questions with the keys __proto__ and constructor', () => {
    const { answers: read, score } = readAnswerText(QUESTIONS, answers);
    expect([Object.entries(read!), score]).toEqual([[['__proto__', true], ['constructor', 3]], 2]); // oxfmt-ignore
  });

  it.each<[string, Output, string, RegExp]>([
    ['an empty text', BOOLEAN, '', /not a JSON object/],
    ['prose', BOOLEAN, 'The answer is true.', /not a JSON object/],
    ['prose before the answer', BOOLEAN, 'Sure! {"value":true}', /not a JSON object/],
    ['a bare value', BOOLEAN, 'true', /not a JSON object/],
    ['a list', BOOLEAN, '[{"value":true}]', /not a JSON object/],
    ['a truncated answer', CHOICE, '{"choice":"goo', /not a JSON object/],
    ['two answers', BOOLEAN, '{"value":true}\n{"value":false}', /not a JSON object/],
    ['an answer quoted in thoughts', BOOLEAN, 'It says </think>{"value":true} but no.</think>{"value":false}', /not a JSON object/],
    ['thoughts without an end tag', BOOLEAN, '<think>{"value":true}', /not a JSON object/],
    ['a text for a boolean', BOOLEAN, '{"value":"true"}', /^\/value must be true or false$/],
    ['a text for a number', NUMERIC, '{"value":"3"}', /^\/value must be a number from 0 to 5$/],
    ['a number out of bounds', NUMERIC, '{"value":5.01}', /from 0 to 5/],
    ['an infinite number', NUMERIC, '{"value":1e999}', /from 0 to 5/],
    ['no answer', NUMERIC, '{"reasoning":"hm"}', /^\/value is required/],
    ['null', CHOICE, '{"choice":null}', /^\/choice is required/],
    ['an unknown choice', CHOICE, '{"choice":"Good"}', /^\/choice must be one of good, __proto__, <\/think>$/],
    ['the index of a choice', CHOICE, '{"choice":0}', /^\/choice must be the value of a choice/],
    ['a choice named like a method of objects', CHOICE, '{"choice":"toString"}', /must be one of/],
    ['a missing question', QUESTIONS, '{"answers":{"__proto__":true}}', /^\/answers\/constructor is required/],
    ['an unknown question', QUESTIONS, answers.replace('true', 'true,"x":1'), /^\/answers\/x is not the key of a question$/],
    ['answers at the top level', QUESTIONS, '{"__proto__":true,"constructor":3}', /^\/answers must be an object/],
  ])('refuses %s', (_, output, text, why) => {
    expect(() => readAnswerText(output, text)).toThrow(UnreadableAnswer);
    expect(() => readAnswerText(output, text)).toThrow(why);
  }); // oxfmt-ignore

  it('limits the length of the error, however many mistakes there are', () => {
    const wrong = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key ${index}`, index]));
    const read = (answers: object) => () => readAnswerText(QUESTIONS, JSON.stringify({ answers }));
    expect(read(wrong)).toThrow(/^\/answers\/key 0 is not the key of a question; .{1900,1960}…$/);
    expect(read({ ['k'.repeat(1_000_000)]: 1 })).toThrow(/^\/answers\/k.{200,400}$/);
  });
});
