import { type ApiClient, committedDocument, sharedApp, newOrganization } from '#testing';
import type { Schema } from './resources.fixture';

interface Document {
  components: { schemas: Record<string, Schema & { const?: unknown; discriminator?: object }> };
}

const { schemas } = committedDocument<Document>().components;
const named = ({ $ref = '' }: Schema): string => $ref.split('/').at(-1)!;

const BOOLEAN = { type: 'boolean' };
const CHOICE = {
  type: 'choice',
  choices: [
    { value: 'yes', score: 1 },
    { value: 'no', score: 0 },
  ],
};
const NUMERIC = { type: 'numeric', min: 0, max: 1 };
const QUESTIONS = {
  type: 'questions',
  questions: [BOOLEAN, CHOICE, NUMERIC].map((output, index) => ({
    key: `q${index}`,
    question: '?',
    output,
  })),
};
const CHECKS = [
  { type: 'equals', value: { any: 'member' } },
  { type: 'contains', value: 'a' },
  { type: 'regex', pattern: 'a' },
  { type: 'json_schema', schema: { type: 'object' } },
  { type: 'levenshtein', threshold: 0.5 },
  { type: 'numeric_range', min: 0 },
  { type: 'tool_called', tool: 'a', arguments: { any: 'member' } },
  { type: 'tool_order', tools: ['a'] },
  { type: 'max_steps', max: 1 },
  { type: 'max_duration_ms', max: 1 },
  { type: 'max_cost_usd', max: 1 },
];

/** Valid definitions that together contain every form. */
const DEFINITIONS: [kind: string, definition: object][] = [
  ['code', { language: 'javascript', source: 'function score() { return 1; }' }],
  ['code', { checks: CHECKS }],
  ...[BOOLEAN, CHOICE, NUMERIC, QUESTIONS].flatMap((output): [string, object][] => [
    ['llm_judge', { prompt: '{{output}}', output }],
    ['human', { rubric: '?', output }],
  ]),
  ['llm_judge', { backend: 'classifier', output: CHOICE }],
];

/** An object in a definition, the name of its schema (its form), and a function that puts another object in its place. */
interface Formed {
  pointer: string;
  form: string;
  value: object;
  around: (value: unknown) => object;
}

/** Returns the schema to which a schema refers, unless that is a form: types of members can have names too. */
function typed(schema: Schema): Schema {
  const target = schemas[named(schema)];
  return target && !target.properties ? typed(target) : schema;
}

/** Returns the name of the alternative of a schema that matches the members and enumerated values of an object. */
function formOf(untyped: Schema, value: object): string | undefined {
  const schema = typed(untyped);
  const alternatives = schema.$ref ? [schema] : [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return alternatives.map(named).find((name) => {
    const { properties = {}, required = [] } = schemas[name] ?? {};
    const members = Object.entries(value);
    return (
      required.every((member) => member in value) &&
      members.every(([member, own]) => {
        const property = properties[member] && typed(properties[member]);
        return property !== undefined && (property.enum === undefined || property.enum.includes(own));
      })
    );
  });
}

/** Returns the objects within a value that have a form. Free-form members have none. */
function formsIn(schema: Schema, value: unknown, pointer: string, around: Formed['around']): Formed[] {
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    return items.flatMap((one, index) =>
      formsIn(typed(schema).items ?? {}, one, `${pointer}/${index}`, (other) =>
        around(items.with(index, other)),
      ),
    );
  }
  if (typeof value !== 'object' || value === null) return [];
  const form = formOf(schema, value);
  if (form === undefined) return [];
  const nested = Object.entries(value).flatMap(([member, own]) =>
    formsIn(schemas[form]!.properties![member]!, own, `${pointer}/${member}`, (other) =>
      around({ ...value, [member]: other }),
    ),
  );
  return [{ pointer, form, value, around }, ...nested];
}

const DEFINITION = typed(schemas.PatchScorer!.properties!.definition!);
const FORMS = DEFINITIONS.flatMap(([scorer_kind, definition]) =>
  formsIn(DEFINITION, definition, '', (value) => value as object).map((one) => ({ ...one, scorer_kind })),
);

/** Returns the names of the schemas to which the schema of a definition refers. */
function reachable(untyped: Schema, names = new Set<string>()): Set<string> {
  const schema = typed(untyped);
  const name = named(schema);
  if (name !== '' && !names.has(name)) {
    names.add(name);
    reachable(schemas[name]!, names);
  }
  const { properties = {}, items, anyOf = [], oneOf = [] } = schema;
  for (const part of [...Object.values(properties), ...(items ? [items] : []), ...anyOf, ...oneOf]) {
    reachable(part, names);
  }
  return names;
}

describe('the definition of a scorer', () => {
  const app = sharedApp();
  let evaluator: ApiClient;
  let workspace_id: string;

  beforeAll(async () => {
    const organization = await newOrganization(app);
    evaluator = await organization.as('evaluator');
    workspace_id = organization.workspaceId;
  });

  const create = (scorer_kind: string, definition: object) =>
    evaluator.post('/eval/v1/scorers', { workspace_id, name: 'n', scorer_kind, definition });

  it('is tested in all its forms, which are all closed in the document', () => {
    const forms = [...reachable(DEFINITION)].sort();
    expect(forms.length).toBeGreaterThan(20);
    expect([...new Set(FORMS.map(({ form }) => form))].sort()).toEqual(forms);
    expect(forms.filter((form) => schemas[form]!.additionalProperties !== false)).toEqual([]);
  });

  it.each(FORMS.map((one) => [one.form, one.pointer, one] as const))(
    'rejects a misspelt member of %s at %j, and suggests the correct one',
    async (form, pointer, { scorer_kind, value, around }) => {
      const [member] = Object.keys(schemas[form]!.properties!).sort((a, b) => b.length - a.length);
      const misspelt = `${member!.slice(0, -2)}${member!.slice(-1)}`;
      const answer = await create(scorer_kind, around({ ...value, [misspelt]: 1 }));
      expect(answer.body).toMatchObject({
        status: 400,
        code: 'invalid_request',
        errors: expect.arrayContaining([
          {
            pointer: `/definition${pointer}/${misspelt}`,
            detail: `is not a known member of this body. Did you mean \`${member}\`?`,
          },
        ]) as unknown,
      });
    },
  );

  it('keeps all members of free-form values', async () => {
    const checks = [
      { type: 'equals', value: { case_sensitve: 1 } },
      { type: 'json_schema', schema: { properties: { case_sensitve: {} } } },
      { type: 'tool_called', tool: 'a', arguments: { case_sensitve: 1 } },
    ];
    const created = await create('code', { checks });
    expect([created.status, created.body.definition]).toEqual([201, { checks }]);
    const definition = { checks: [{ type: 'equals', case_sensitve: false }] };
    const path = `/eval/v1/scorers/${created.body.scorer_id as string}`;
    const patched = await evaluator.patch(path, { definition });
    expect(patched.body.errors).toEqual([
      {
        pointer: '/definition/checks/0/case_sensitve',
        detail: 'is not a known member of this body. Did you mean `case_sensitive`?',
      },
    ]);
  });
});
