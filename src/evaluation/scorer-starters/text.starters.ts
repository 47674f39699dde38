import { NUMERIC_CLOSENESS } from './sources/numeric-closeness.source';
import { code, type CodeStarter } from './starter';

/** Scorers that compare the output with `expected`, or check its form. */
export const TEXT_STARTERS: CodeStarter[] = [
  code({
    starter_id: 'exact_match',
    name: 'Exact match',
    description:
      'Whether the output is the same JSON value as `expected`: 1 or 0. The order of object members does not matter. Texts must be identical.',
    tags: ['text', 'reference'],
    definition: { checks: [{ type: 'equals', path: 'output', expected_path: 'expected' }], aggregate: 'all' },
    passing: { subject: { input: 'What is 6 times 7?', output: '42', expected: '42' }, score: 1 },
    failing: { subject: { input: 'What is 6 times 7?', output: '42.', expected: '42' }, score: 0 },
  }),
  code({
    starter_id: 'json_validity',
    name: 'JSON validity',
    description:
      'Whether the output is JSON: a text that parses (RFC 8259, without a Markdown fence), or an object or array. To require a shape, replace `schema` in both checks with your JSON Schema (2020-12).',
    tags: ['text', 'format'],
    definition: {
      checks: [
        { type: 'json_schema', name: 'text', path: 'output', schema: {}, parse_json: true },
        { type: 'json_schema', name: 'value', path: 'output', schema: { type: ['object', 'array'] } },
      ],
      aggregate: 'any',
    },
    passing: { subject: { input: 'Name a colour, as JSON.', output: '{"colour": "blue"}' }, score: 1 },
    failing: {
      subject: { input: 'Name a colour, as JSON.', output: '```json\n{"colour": "blue"}\n```' },
      score: 0,
    },
  }),
  code({
    starter_id: 'levenshtein',
    name: 'Levenshtein similarity',
    description:
      'The similarity of the output and the expected text, from 0 to 1: 1 minus the edit distance divided by the length of the longer text. Texts have at most 20,000 characters. Set `threshold` on the check to make it pass or fail instead.',
    tags: ['text', 'reference'],
    definition: {
      checks: [{ type: 'levenshtein', path: 'output', expected_path: 'expected' }],
      aggregate: 'mean',
    },
    passing: { subject: { output: 'Saint Petersburg', expected: 'Saint Petersburg' }, score: 1 },
    failing: { subject: { output: 'kitten', expected: 'sitting' }, score: 1 - 3 / 7 },
  }),
  code({
    starter_id: 'numeric_closeness',
    name: 'Numeric closeness',
    description:
      'How close the output is to the expected number, from 0 to 1: 1 minus their difference as a share of the larger one. Both are numbers or texts that hold one number, in which commas may separate thousands. An output that is not a number scores 0. An expected value that is not a number is an error.',
    tags: ['number', 'reference'],
    definition: { language: 'javascript', source: NUMERIC_CLOSENESS },
    passing: {
      subject: { input: 'What is 1,000 plus 234.5?', output: '1,234.5', expected: 1234.5 },
      score: 1,
    },
    failing: { subject: { input: 'What is 5 times 20?', output: 75, expected: '100' }, score: 0.75 },
  }),
  code({
    starter_id: 'contains',
    name: 'Contains',
    description:
      'Whether the output contains `expected`, ignoring case: a text contains the expected text, a list has an equal item, or an object has the same members.',
    tags: ['text', 'reference'],
    definition: {
      checks: [{ type: 'contains', path: 'output', expected_path: 'expected', case_sensitive: false }],
      aggregate: 'all',
    },
    passing: { subject: { output: 'The capital of France is Paris.', expected: 'paris' }, score: 1 },
    failing: { subject: { output: 'The capital of France is Lyon.', expected: 'paris' }, score: 0 },
  }),
];
