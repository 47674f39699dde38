import type { ScoreOutcome, ScoringSubject } from '../subject';
import type { Check } from '../../definitions/check.forms';
import type { ChecksDefinition } from '../../definitions/definition.forms';
import { ChecksRunner } from './checks.runner';

const runChecks = (definition: ChecksDefinition, subject: ScoringSubject): ScoreOutcome =>
  new ChecksRunner().score(definition, subject);

describe('a value check', () => {
  function outcome(check: Check, subject: Partial<ScoringSubject>): ScoreOutcome {
    const empty = { input: null, output: null, expected: null, metadata: null, trace: null, session: null };
    return runChecks({ checks: [check], aggregate: 'all' }, { ...empty, ...subject });
  }
  function passes(check: Check, subject: Partial<ScoringSubject>): boolean {
    const result = outcome(check, subject);
    expect(result).toHaveProperty('score');
    return (result as { score: number }).score === 1;
  }

  describe('of type equals', () => {
    it.each<[unknown, unknown, boolean]>([
      ['a', 'a', true],
      ['a', 'A', false],
      [1, 1.0, true],
      [1, '1', false],
      [true, 1, false],
      [{ a: 1, b: [2, { c: 3 }] }, { b: [2, { c: 3 }], a: 1 }, true],
      [{ a: 1 }, { a: 1, b: 2 }, false],
      [[1, 2], [2, 1], false],
      [[], {}, false],
      [JSON.parse('{"__proto__": 1}'), {}, false],
      ['', '', true],
      [false, false, true],
    ])('compares %j with %j: %s', (output, value, expected) => {
      expect(passes({ type: 'equals', value }, { output })).toBe(expected);
      expect(
        passes({ type: 'equals', path: 'output', expected_path: 'expected' }, { output, expected: value }),
      ).toBe(expected);
    });

    it('compares with `expected` by default, and can compare with null', () => {
      expect(passes({ type: 'equals' }, { output: 'x', expected: 'x' })).toBe(true);
      expect(passes({ type: 'equals', value: null }, { output: null })).toBe(true);
    });

    it('can ignore case', () => {
      expect(passes({ type: 'equals', value: ['ÉA'], case_sensitive: false }, { output: ['éa'] })).toBe(true);
    });

    it('is an error, not a failure, if nothing is expected', () => {
      expect(outcome({ type: 'equals' }, { output: 'x' })).toEqual({
        error: 'equals: there is no value at expected to compare with',
      });
    });
  });

  it('fails if its path selects nothing, even when negated', () => {
    const check: Check = { type: 'equals', path: 'output.answer', value: 1 };
    expect(outcome(check, { output: {} })).toMatchObject({
      score: 0,
      reasoning: '1 of 1 checks failed. equals: there is no value at output.answer.',
    });
    expect(passes({ ...check, negate: true }, { output: {} })).toBe(false);
    expect(passes({ ...check, negate: true }, { output: { answer: 2 } })).toBe(true);
    expect(passes({ ...check, negate: true }, { output: { answer: 1 } })).toBe(false);
  });

  describe('of type contains', () => {
    it.each<[unknown, unknown, boolean]>([
      ['the answer is 42', '42', true],
      ['the answer is 42', 42, true],
      ['the answer', 'Answer', false],
      [['a', { b: 1 }], { b: 1 }, true],
      [['ab'], 'a', false],
      [{ a: 1, b: { c: 2, d: 3 } }, { b: { c: 2 } }, true],
      [{ a: 1 }, { b: 1 }, false],
      [{ a: 1 }, 'a', false],
      [123, '2', true],
      [null, 'null', false],
      ['[object Object]', {}, false],
    ])('searches %j for %j: %s', (output, value, expected) => {
      expect(passes({ type: 'contains', value }, { output })).toBe(expected);
    });

    it('requires all or any of several values', () => {
      const output = 'Paris is the capital of France';
      const values = ['paris', 'rome'];
      expect(passes({ type: 'contains', values, case_sensitive: false }, { output })).toBe(false);
      expect(passes({ type: 'contains', values, match: 'any', case_sensitive: false }, { output })).toBe(
        true,
      );
      expect(passes({ type: 'contains', values: ['Paris', 'France'] }, { output })).toBe(true);
      expect(passes({ type: 'contains', values, match: 'any' }, { output })).toBe(false);
    });
  });

  describe('of type regex', () => {
    it('matches anywhere in the text, supports flags, and matches other values as JSON', () => {
      expect(passes({ type: 'regex', pattern: '\\d{3}-\\d{4}' }, { output: 'call 555-1234 now' })).toBe(true);
      expect(passes({ type: 'regex', pattern: '^yes$', flags: 'i' }, { output: 'YES' })).toBe(true);
      expect(passes({ type: 'regex', pattern: '^yes$' }, { output: 'yes\nno' })).toBe(false);
      expect(passes({ type: 'regex', pattern: '^yes$', flags: 'm' }, { output: 'yes\nno' })).toBe(true);
      expect(passes({ type: 'regex', pattern: '"a":1' }, { output: { a: 1 } })).toBe(true);
      expect(passes({ type: 'regex', pattern: 'null' }, { output: null })).toBe(false);
    });

    it('takes linear time for patterns that cause catastrophic backtracking', () => {
      const output = `${'a'.repeat(100_000)}!`;
      expect(passes({ type: 'regex', pattern: '^(a+)+$' }, { output })).toBe(false);
      expect(passes({ type: 'regex', pattern: '^(a|a)*$' }, { output })).toBe(false);
    });
  });

  describe('of type json_schema', () => {
    const schema = { type: 'object', required: ['answer'], properties: { answer: { type: 'integer' } } };

    it('validates the value, or the JSON in a text', () => {
      expect(passes({ type: 'json_schema', schema }, { output: { answer: 1 } })).toBe(true);
      expect(passes({ type: 'json_schema', schema }, { output: '{"answer":1}' })).toBe(false);
      expect(passes({ type: 'json_schema', schema, parse_json: true }, { output: '{"answer":1}' })).toBe(
        true,
      );
      expect(passes({ type: 'json_schema', schema: {}, parse_json: true }, { output: 'not json' })).toBe(
        false,
      );
      expect(passes({ type: 'json_schema', schema: {}, parse_json: true }, { output: { a: 1 } })).toBe(false);
    });

    it.each([
      ['```json\n{}', 'there is "`" at line 1, column 1, where a value is expected'],
      ['{"a": 1,\n "b": nope}', 'there is "n" at line 2, column 7, where a value is expected'],
      ['{"a": 1,}', 'there is "}" at line 1, column 9, where a member name is expected'],
      ['[1, 2', 'it ends at line 1, column 6, where "," or "]" is expected'],
      ['{} or so', 'there is "o" at line 1, column 4, where the end is expected'],
      [' ', 'it is empty, where a value is expected'],
    ])('reports where and why the text %j is not JSON', (output, fault) => {
      const reasoning = `1 of 1 checks failed. json_schema: ${JSON.stringify(output)} is not JSON: ${fault}.`;
      const check: Check = { type: 'json_schema', schema: {}, parse_json: true };
      expect(outcome(check, { output })).toMatchObject({ score: 0, reasoning });
    });

    it('fails for a text that is not JSON, even if it is nested too deeply to explain', () => {
      const check: Check = { type: 'json_schema', schema: {}, parse_json: true };
      expect(outcome(check, { output: '['.repeat(1_000_000) })).toMatchObject({ score: 0 });
    });

    it('reports where the value violates the schema', () => {
      expect(outcome({ type: 'json_schema', schema }, { output: { answer: 'x' } })).toMatchObject({
        reasoning: expect.stringContaining('/answer must be integer'),
      });
    });
  });

  describe('of type levenshtein', () => {
    it('passes at the threshold or above, and returns the similarity as its answer', () => {
      const check: Check = { type: 'levenshtein', expected_path: 'expected', threshold: 0.75 };
      expect(outcome(check, { output: 'abcd', expected: 'abce' })).toMatchObject({
        score: 1,
        answers: { levenshtein: 0.75 },
      });
      expect(outcome({ ...check, threshold: 0.8 }, { output: 'abcd', expected: 'abce' })).toMatchObject({
        score: 0,
        answers: { levenshtein: 0.75 },
        reasoning: expect.stringContaining('the similarity is 0.75, below 0.8'),
      });
    });

    it('contributes the similarity to the mean without a threshold', () => {
      const subject = {
        input: null,
        output: 'abcd',
        expected: 'abce',
        metadata: null,
        trace: null,
        session: null,
      };
      const checks: Check[] = [{ type: 'levenshtein' }, { type: 'equals', value: 'abcd' }];
      expect(runChecks({ checks, aggregate: 'mean' }, subject)).toMatchObject({ score: 0.875 });
      expect(runChecks({ checks, aggregate: 'all' }, subject)).toMatchObject({ score: 0 });
      const negated: Check[] = [{ type: 'levenshtein', negate: true }];
      expect(runChecks({ checks: negated, aggregate: 'mean' }, subject)).toMatchObject({ score: 0.25 });
    });

    it('treats two empty texts as equal, and null as different from any text', () => {
      expect(outcome({ type: 'levenshtein', value: '' }, { output: '' })).toMatchObject({ score: 1 });
      expect(outcome({ type: 'levenshtein', value: 'a' }, { output: null })).toMatchObject({ score: 0 });
    });

    it('can ignore case', () => {
      expect(passes({ type: 'levenshtein', value: 'ABC', case_sensitive: false }, { output: 'abc' })).toBe(
        true,
      );
    });

    it('is an error for texts above 20,000 characters', () => {
      expect(outcome({ type: 'levenshtein', value: 'a' }, { output: 'a'.repeat(20_001) })).toEqual({
        error:
          'levenshtein: texts of more than 20000 characters cannot be compared; the longer one has 20001',
      });
    });
  });

  describe('of type numeric_range', () => {
    it.each<[unknown, boolean]>([
      [1, true],
      [5, true],
      [0.999, false],
      [5.001, false],
      [' 3.5 ', true],
      ['4e0', true],
      ['3 apples', false],
      ['', false],
      ['0x3', false],
      [true, false],
      [null, false],
      [[3], false],
    ])('checks whether %j is between 1 and 5: %s', (output, expected) => {
      expect(passes({ type: 'numeric_range', min: 1, max: 5 }, { output })).toBe(expected);
    });

    it('returns the number as its answer, and may omit a bound', () => {
      expect(outcome({ type: 'numeric_range', min: 1 }, { output: '7' })).toMatchObject({
        score: 1,
        answers: { numeric_range: 7 },
      });
    });
  });
});
