import type { Output } from '../../scorers/definitions/definition.forms';
import { readAnswerText, UnreadableAnswer } from './judge-answer';

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

describe('the text that a judge answers', () => {
  it.each<[string, Output, string, object]>([
    ['a choice', CHOICE, '{"choice":"good"}', { choice: 'good', score: 1 }],
    ['a choice that means something to JavaScript', CHOICE, '{"choice":"__proto__"}', { choice: '__proto__', score: 0.5 }],
    ['a boolean, with its reasons', BOOLEAN, ' {"reasoning":"so","value":false}\n', { value: false, score: 0, reasoning: 'so' }],
    ['a number', NUMERIC, '{"value":4.5}', { value: 4.5, score: 4.5 }],
    ['reasons that are none', NUMERIC, '{"reasoning":["x"],"value":0}', { value: 0, score: 0 }],
    ['an answer in a fence', BOOLEAN, '```json\n{"value":true}\n```', { value: true, score: 1 }],
    ['an answer in a fence of Windows', BOOLEAN, '```JSON \r\n{"value":true}\r\n```\r\n', { value: true, score: 1 }],
    ['an answer that was thought about', BOOLEAN, '\n<think>{"value":false}?\n</think>\n```\n{"value":true}```', { value: true, score: 1 }],
    ['an answer behind thoughts whose beginning is left out', BOOLEAN, 'Well …\n</think>\n\n{"value":true}', { value: true, score: 1 }],
    ['an answer that speaks of thinking', CHOICE, '{"reasoning":"<think>","choice":"</think>"}', { choice: '</think>', score: 0, reasoning: '<think>' }],
    ['more than was asked for', CHOICE, '{"choice":"good","score":7,"value":3,"x":{}}', { choice: 'good', score: 1 }],
  ])('is read where it is %s', (_, output, text, read) => {
    expect(readAnswerText(output, text)).toEqual(read);
  }); // prettier-ignore

  it('is read where it answers questions whose keys mean something to JavaScript', () => {
    const { answers: read, score } = readAnswerText(QUESTIONS, answers);
    expect([Object.entries(read!), score]).toEqual([[['__proto__', true], ['constructor', 3]], 2]); // prettier-ignore
  });

  it.each<[string, Output, string, RegExp]>([
    ['nothing', BOOLEAN, '', /not a JSON object/],
    ['prose', BOOLEAN, 'The answer is true.', /not a JSON object/],
    ['prose before the answer', BOOLEAN, 'Sure! {"value":true}', /not a JSON object/],
    ['a bare value', BOOLEAN, 'true', /not a JSON object/],
    ['a list', BOOLEAN, '[{"value":true}]', /not a JSON object/],
    ['half an answer', CHOICE, '{"choice":"goo', /not a JSON object/],
    ['two answers', BOOLEAN, '{"value":true}\n{"value":false}', /not a JSON object/],
    ['an answer that is quoted in thoughts', BOOLEAN, 'It says </think>{"value":true} but no.</think>{"value":false}', /not a JSON object/],
    ['thoughts without an end', BOOLEAN, '<think>{"value":true}', /not a JSON object/],
    ['a text for a boolean', BOOLEAN, '{"value":"true"}', /^\/value must be true or false$/],
    ['a text for a number', NUMERIC, '{"value":"3"}', /^\/value must be a number from 0 to 5$/],
    ['a number out of bounds', NUMERIC, '{"value":5.01}', /from 0 to 5/],
    ['a number beyond all numbers', NUMERIC, '{"value":1e999}', /from 0 to 5/],
    ['no answer', NUMERIC, '{"reasoning":"hm"}', /^\/value is required/],
    ['null', CHOICE, '{"choice":null}', /^\/choice is required/],
    ['none of the choices', CHOICE, '{"choice":"Good"}', /^\/choice must be one of good, __proto__, <\/think>$/],
    ['the number of a choice', CHOICE, '{"choice":0}', /^\/choice must be the value of a choice/],
    ['a choice that every object has', CHOICE, '{"choice":"toString"}', /must be one of/],
    ['one question of two', QUESTIONS, '{"answers":{"__proto__":true}}', /^\/answers\/constructor is required/],
    ['a question more', QUESTIONS, answers.replace('true', 'true,"x":1'), /^\/answers\/x is not the key of a question$/],
    ['answers beside each other', QUESTIONS, '{"__proto__":true,"constructor":3}', /^\/answers must be an object/],
  ])('is none where it is %s', (_, output, text, why) => {
    expect(() => readAnswerText(output, text)).toThrow(UnreadableAnswer);
    expect(() => readAnswerText(output, text)).toThrow(why);
  }); // prettier-ignore

  it('is complained of in a few words, however much is wrong with it, so that the judge can read why', () => {
    const wrong = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key ${index}`, index]));
    const read = (given: object) => () => readAnswerText(QUESTIONS, JSON.stringify({ answers: given }));
    expect(read(wrong)).toThrow(/^\/answers\/key 0 is not the key of a question; .{1900,1960}…$/);
    expect(read({ ['k'.repeat(1_000_000)]: 1 })).toThrow(/^\/answers\/k.{200,400}$/);
  });
});
