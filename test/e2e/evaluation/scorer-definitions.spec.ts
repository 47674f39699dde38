import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020';
import type { Scope } from '#platform/auth';
import { Problem } from '#platform/problem';
import { sharedApp } from '#testing';
import { OpenApiSource } from '../../../src/openapi';
import { ScorerService } from '../../../src/evaluation/scorers/scorer.service';
import type { ScorerKind } from '../../../src/evaluation/scorers/definitions/definition.forms';

const CHOICE = {
  type: 'choice',
  choices: [
    { value: 'good', score: 1, description: 'All is there.' },
    { value: 'bad', score: 0 },
  ],
};
const NUMERIC = { type: 'numeric', min: 1, max: 5 };
const QUESTIONS = {
  type: 'questions',
  questions: [
    { key: 'a', question: 'How good?', output: NUMERIC },
    { key: 'b', question: 'Which?', output: CHOICE },
    { key: 'c', question: 'Right?', output: { type: 'boolean' } },
  ],
};
const COMPARED = { path: 'output.text', expected_path: 'expected', case_sensitive: false };
const CHECKS = [
  { type: 'equals', name: 'same', negate: true, ...COMPARED },
  { type: 'equals', value: { a: 1 } },
  { type: 'contains', values: ['a', 1], match: 'any' },
  { type: 'regex', path: 'output', pattern: '^a+$', flags: 'i' },
  { type: 'json_schema', schema: { type: 'object' }, parse_json: true },
  { type: 'levenshtein', threshold: 0.5, ...COMPARED },
  { type: 'numeric_range', min: 0, max: 10 },
  { type: 'tool_called', tools: ['search', 'mail'], min: 1, max: 3, arguments: { to: 'x' } },
  { type: 'tool_called', tool: 'search' },
  { type: 'tool_order', tools: ['search', 'mail'], mode: 'exact' },
  { type: 'max_steps', max: 10, count: 'tool' },
  { type: 'max_duration_ms', max: 1500.5 },
  { type: 'max_cost_usd', max: 0.05 },
];

/** A definition of each form, with all of its members. */
const SAMPLES: [schema: string, kind: ScorerKind, definition: object][] = [
  [
    'ScriptDefinition',
    'code',
    { language: 'javascript', source: 'function score() { return 1 }', timeout_ms: 500, memory_mb: 16 },
  ],
  ['ChecksDefinition', 'code', { checks: [{ type: 'max_steps', max: 10 }], aggregate: 'mean' }],
  ...CHECKS.map((check): (typeof SAMPLES)[number] => ['ChecksDefinition', 'code', { checks: [check] }]),
  [
    'LlmDefinition',
    'llm_judge',
    {
      ...{ backend: 'llm', model: 'm', prompt: 'Is {{output}} right?', output: QUESTIONS },
      ...{ reasoning: true, samples: 3, temperature: 0.5 },
    },
  ],
  ['LlmDefinition', 'llm_judge', { prompt: 'p', output: CHOICE }],
  [
    'ClassifierDefinition',
    'llm_judge',
    { backend: 'classifier', model: 'm', prompt: 'p', output: CHOICE, reasoning: false },
  ],
  ['HumanDefinition', 'human', { rubric: 'Kind?', output: QUESTIONS, min_annotations: 2 }],
  ['HumanDefinition', 'human', { rubric: 'Kind?', output: NUMERIC }],
];

/** Replacements for any value, including the minimums and maximums of members. */
const OTHERS: unknown[] = [
  ...[undefined, null, true, false, '', 'x', 'llm', 'classifier', 'numeric', 'choice', 'boolean'],
  ...['i', 'any', 'output', 'a'.repeat(100), 'a'.repeat(101), 'a'.repeat(256), 'a'.repeat(501), 'a'.repeat(10_001)],
  ...['a'.repeat(100_001), -1, 0, 0.5, 1, 2, 3, 20, 21, 100, 101, 256, 257, 10_000, 10_001, 1_000_001, 1e308],
  ...[[], ['x'], [''], new Array(101).fill('x'), {}, { a: 1 }, CHOICE, NUMERIC],
]; // oxfmt-ignore

/** Faults that a schema cannot express: rules between members, and the syntax of texts. */
const BEYOND_SCHEMAS =
  /greater than min|above max|more than once|needs either|must begin with|cannot be used|ReferenceError|type must be one|schema has \d+ characters/;

/** Yields variations of a value, in each of which one part is replaced, added or omitted. */
function* changed(value: unknown): Generator {
  yield* OTHERS;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const other of changed(item)) {
        if (other !== undefined) yield value.with(index, other);
      }
    }
    yield [...(value as unknown[]), ...(value as unknown[])];
  } else if (typeof value === 'object' && value !== null) {
    for (const [member, own] of Object.entries(value)) {
      for (const other of changed(own)) yield { ...value, [member]: other };
    }
    yield { ...value, unheard_of: { a: 1 } };
  }
}

describe('definitions of scorers', () => {
  const app = sharedApp();
  let scorers: ScorerService;
  let schemas: Record<string, ValidateFunction>;
  const scope = { workspaceId: 'wsp_of_definitions' } as Scope;

  beforeAll(() => {
    scorers = app.get(ScorerService);
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    ajv.addSchema({ $id: 'api', ...app.get(OpenApiSource).document() });
    const names = new Set(SAMPLES.map(([schema]) => schema));
    schemas = Object.fromEntries(
      [...names].map((name) => [name, ajv.compile({ $ref: `api#/components/schemas/${name}` })]),
    );
  });

  /** Returns the faults that the service finds. */
  const faultsOf = async (kind: ScorerKind, definition: object): Promise<string[]> => {
    try {
      await scorers.checkDefinition(scope, kind, definition, new AbortController().signal);
      return [];
    } catch (error) {
      if (error instanceof Problem) return error.errors!.map((one) => one.detail);
      throw error;
    }
  };

  it.each(SAMPLES)('are valid in openapi.json and in the service: %s of kind %s', async (schema, kind, sample) => {
    const validate = schemas[schema]!;
    let accepted = 0;
    let rejected = 0;
    for (const other of changed(sample)) {
      if (typeof other !== 'object' || other === null || Array.isArray(other)) continue;
      const definition = JSON.parse(JSON.stringify(other)) as { backend?: unknown };
      // The other form of the same kind.
      if (kind === 'llm_judge' && (definition.backend === 'classifier') !== schema.startsWith('Classifier')) continue;
      const faults = await faultsOf(kind, definition);
      if (faults.length === 0) accepted++;
      else rejected++;
      if (validate(definition) === (faults.length === 0)) continue;
      // The service may find more than the schema only if a schema cannot express it.
      const unexplained = validate(definition) ? faults.filter((one) => !BEYOND_SCHEMAS.test(one)) : ['only the schema'];
      if (unexplained.length > 0) throw new Error(`${JSON.stringify(definition).slice(0, 2_000)}: ${unexplained.join('; ')}; ${JSON.stringify(validate.errors)}`);
    }
    expect(accepted).toBeGreaterThan(10);
    expect(rejected).toBeGreaterThan(100);
  }, 120_000); // oxfmt-ignore

  it.each([
    ['an unclosed tag', 'Is {{output right?', 'is not a Mustache template: Unclosed tag at 18'],
    ['an unclosed section', '{{#input}}x', 'is not a Mustache template: Unclosed section "input" at 11'],
    ['a partial', 'Is {{> other}} right?', 'has a partial, {{> other}}, and partials are not supported'],
    ['a misspelt variable', '{{ouput}}', 'has an unknown variable, {{ouput}}; the variables are input, output, expected, metadata, trace, session'],
    ['a misspelt variable in an inverted section', '{{^expected}}{{ouput}}{{/expected}}', 'has an unknown variable, {{ouput}}; the variables are'],
    ['an invalid path', '{{output[x]}}', 'has {{output[x]}}: "output[x]" is not a path'],
    ['sections that are nested too deeply', '{{#input}}'.repeat(17) + '{{/input}}'.repeat(17), 'has sections more than 16 deep'],
    ['too much whitespace', `{{input${' '.repeat(90_000)}}}`, 'has more than 1000 characters of whitespace in a row'],
  ])('refuse a prompt with %s on create', async (_, prompt, why) => {
    for (const backend of ['llm', 'classifier']) {
      const definition = { backend, prompt, output: CHOICE };
      expect(await faultsOf('llm_judge', definition)).toEqual([expect.stringContaining(why)]);
    }
  }); // oxfmt-ignore

  it('explain a faulty prompt briefly, however long it is', async () => {
    const [fault] = await faultsOf('llm_judge', { prompt: `{{> ${'x'.repeat(90_000)}}}`, output: CHOICE });
    expect(fault).toMatch(/^has a partial, \{\{> x{1900,2000}…$/);
  });

  it('accept a prompt with every template feature', async () => {
    const prompt = "{{=<% %>=}}<%#session.traces%><%trace_id%><%^spans%>-<%/spans%><%/session.traces%><%{metadata['a b'][-1]}%>";
    expect(await faultsOf('llm_judge', { prompt, output: CHOICE })).toEqual([]);
  }); // oxfmt-ignore
});
