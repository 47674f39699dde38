import { faultsOfCode } from './definition.forms';
import type { FormFault } from './form';

const script = { language: 'javascript', source: 'function score() { return 1 }' };

describe('faultsOfCode', () => {
  const problemsOf = (check: unknown): FormFault[] => faultsOfCode({ checks: [check] });

  it('reports unknown members, and suggests similar ones', () => {
    expect(faultsOfCode({ ...script, timeout: 1 })).toEqual([
      { pointer: '/timeout', detail: 'is not a known member of this body. Did you mean `timeout_ms`?' },
    ]);
    expect(problemsOf({ type: 'equals', value: 1, weight: 2 })).toEqual([
      { pointer: '/checks/0/weight', detail: 'is not a known member of this body' },
    ]);
  });

  it.each<[unknown, string, string]>([
    [null, '', 'must be an object'],
    [[], '', 'must be an object'],
    ['source', '', 'must be an object'],
    [{}, '', 'needs source (with "language": "javascript") or checks'],
    [{ language: 'javascript' }, '', 'needs source'],
    [{ ...script, checks: [] }, '', 'has both source and checks'],
    [{ ...script, language: 'python' }, '/language', 'must be javascript'],
    [{ ...script, source: 1 }, '/source', 'must be a string that defines a function score'],
    [{ ...script, source: ' ' }, '/source', 'must be a string that defines a function score'],
    [{ ...script, source: `//${'é'.repeat(140_000)}` }, '/source', 'must have at most 262144 bytes'],
    [{ ...script, timeout_ms: 0 }, '/timeout_ms', 'must be an integer from 1 to 10000'],
    [{ ...script, timeout_ms: 10_001 }, '/timeout_ms', 'must be an integer from 1 to 10000'],
    [{ ...script, timeout_ms: '1000' }, '/timeout_ms', 'must be an integer from 1 to 10000'],
    [{ ...script, timeout_ms: 1.5 }, '/timeout_ms', 'must be an integer from 1 to 10000'],
    [{ ...script, memory_mb: 1 }, '/memory_mb', 'must be an integer from 2 to 256'],
    [{ ...script, memory_mb: 257 }, '/memory_mb', 'must be an integer from 2 to 256'],
    [{ checks: {} }, '/checks', 'must be a list of 1 to 100 checks'],
    [{ checks: [] }, '/checks', 'must be a list of 1 to 100 checks'],
    [{ checks: Array(101).fill({ type: 'equals' }) }, '/checks', 'must be a list of 1 to 100 checks'],
    [
      { checks: [{ type: 'equals', value: 'x'.repeat(140_000) }] },
      '/checks',
      'must have at most 131072 characters',
    ],
    [{ checks: [{ type: 'equals' }], aggregate: 'sum' }, '/aggregate', 'must be one of all, any, mean'],
  ])('refuses the invalid definition %#, and points to the fault', (definition, pointer, detail) => {
    expect(faultsOfCode(definition)).toContainEqual({
      pointer,
      detail: expect.stringContaining(detail),
    });
  });

  it.each<[unknown]>([
    [{ type: 'equals' }],
    [{ type: 'equals', path: 'output.answer', expected_path: 'expected.answer', case_sensitive: false }],
    [{ type: 'equals', path: '$.trace.spans[0].name', value: null, name: 'n', negate: true }],
    [{ type: 'contains', values: ['a', 1], match: 'any' }],
    [{ type: 'regex', pattern: '^a+$', flags: 'im' }],
    [{ type: 'json_schema', schema: { type: 'object' }, parse_json: true }],
    [{ type: 'json_schema', schema: false }],
    [{ type: 'levenshtein', threshold: 0.8 }],
    [{ type: 'numeric_range', min: 0 }],
    [{ type: 'tool_called', tool: 'a', min: 0, max: 2, arguments: { a: 1 } }],
    [{ type: 'tool_called', tools: ['a', 'b'] }],
    [{ type: 'tool_order', tools: ['a', 'b'], mode: 'exact' }],
    [{ type: 'max_steps', max: 0, count: 'tool' }],
    [{ type: 'max_duration_ms', max: 1.5 }],
    [{ type: 'max_cost_usd', max: 0 }],
  ])('accepts the check %j', (check) => {
    expect(problemsOf(check)).toEqual([]);
  });

  it.each<[unknown, string, string]>([
    ['equals', '', 'must be an object with a type'],
    [{}, '/type', 'is required'],
    [{ type: 'similar' }, '/type', 'must be one of equals, contains, regex'],
    [{ type: 'toString' }, '/type', 'must be one of'],
    [{ type: 'equals', path: 'answer' }, '/path', 'must begin with one of input, output'],
    [{ type: 'equals', path: 'output[*]' }, '/path', 'is not a path'],
    [{ type: 'equals', path: 1 }, '/path', 'must be a string'],
    [{ type: 'equals', value: 1, expected_path: 'expected' }, '/expected_path', 'combined with value'],
    [{ type: 'equals', case_sensitive: 'no' }, '/case_sensitive', 'must be true or false'],
    [{ type: 'equals', negate: 1 }, '/negate', 'must be true or false'],
    [{ type: 'equals', name: '' }, '/name', 'must be a string of 1 to 100 characters'],
    [{ type: 'contains', values: [] }, '/values', 'must be a list of 1 or more values'],
    [{ type: 'contains', values: ['a'], value: 'b' }, '/values', 'combined with value or expected_path'],
    [{ type: 'regex' }, '/pattern', 'is required'],
    [{ type: 'regex', pattern: 1 }, '/pattern', 'must be a string'],
    [{ type: 'regex', pattern: '(?=a)' }, '/pattern', 'lookahead and lookbehind are not supported'],
    [{ type: 'regex', pattern: 'a', flags: 'g' }, '/pattern', 'the flag "g" is not supported'],
    [{ type: 'regex', pattern: 'a', flags: 1 }, '/flags', 'must be a string of the flags'],
    [{ type: 'json_schema' }, '/schema', 'is required'],
    [
      { type: 'json_schema', schema: { items: { type: 'text' } } },
      '/schema/items/type',
      'must be one or several of',
    ],
    [
      { type: 'json_schema', schema: { $ref: 'https://example.com' } },
      '/schema',
      'References must point inside',
    ],
    [{ type: 'levenshtein', threshold: 2 }, '/threshold', 'must be a number from 0 to 1'],
    [{ type: 'numeric_range' }, '', 'needs min, max or both'],
    [{ type: 'numeric_range', min: 2, max: 1 }, '/min', 'must not be above max'],
    [{ type: 'numeric_range', min: '1' }, '/min', 'must be a number'],
    [{ type: 'tool_called' }, '', 'needs either tool or tools'],
    [{ type: 'tool_called', tool: 'a', tools: ['b'] }, '', 'needs either tool or tools'],
    [{ type: 'tool_called', tool: 'a', min: 2, max: 1 }, '/min', 'must not be above max'],
    [{ type: 'tool_called', tool: 'a', arguments: [] }, '/arguments', 'must be an object'],
    [{ type: 'tool_order', tools: [] }, '/tools', 'must be a list of 1 to 100 strings'],
    [{ type: 'tool_order', tools: ['a'], mode: 'any' }, '/mode', 'must be one of subsequence, exact'],
    [{ type: 'max_steps' }, '/max', 'is required'],
    [{ type: 'max_steps', max: 1.5 }, '/max', 'must be an integer from 0'],
    [{ type: 'max_duration_ms', max: -1 }, '/max', 'must be a number of 0 or more'],
    [{ type: 'max_cost_usd', max: '1' }, '/max', 'must be a number of 0 or more'],
  ])('refuses the check %j at "%s"', (check, pointer, detail) => {
    const at = faultsOfCode({ checks: [{ type: 'equals' }, check] });
    expect(at).toContainEqual({ pointer: `/checks/1${pointer}`, detail: expect.stringContaining(detail) });
  });

  it('refuses two checks with the same name', () => {
    const check = { type: 'equals', name: 'same' };
    expect(faultsOfCode({ checks: [check, check] })).toEqual([
      { pointer: '/checks/1/name', detail: 'occurs more than once' },
    ]);
  });

  it('reports at most 50 problems', () => {
    expect(faultsOfCode({ checks: Array(100).fill({}) })).toHaveLength(50);
  });
});
