import { gzipSync } from 'node:zlib';
import { type Answer, committedDocument, sharedApp } from '#testing';
import {
  type DocumentedOperation,
  documentedOperations,
  resolved,
  Resources,
  type Schema,
} from './resources.fixture';

/**
 * JSON-RPC messages and model calls have their own rules, which `test/e2e/mcp-endpoint/` and `test/e2e/model-gateway/` test.
 * Model calls forward unknown members.
 */
const OTHERS =
  /^\/mcp$|^\/model\/v1\/(chat\/completions|responses|embeddings|messages|messages\/count_tokens)$/;
const OPERATIONS = documentedOperations().filter(({ path }) => !OTHERS.test(path));
/** Operations whose JSON body is an object without additional members. */
const WRITES = OPERATIONS.filter(({ body }) => body?.additionalProperties === false);
/** Operations that accept If-Match, except restores: restoring a live resource returns it unchanged, whatever the ETag. */
const CONDITIONAL = OPERATIONS.filter(({ takesIfMatch, path }) => takesIfMatch && !path.endsWith('/restore'));

type Body = Record<string, unknown>;

/** Returns the members of a body that accept any JSON value or any object. */
const freeFormIn = ({ body }: DocumentedOperation): string[] =>
  Object.entries(body?.properties ?? {}).flatMap(([name, schema]) => {
    const { additionalProperties, anyOf = [] } = resolved(schema);
    return additionalProperties === true || anyOf.length === 6 ? [name] : [];
  });
const FREE_FORM = WRITES.filter((operation) => freeFormIn(operation).length > 0);

/** Returns a value that matches a schema. */
function sampleOf(schema: Schema): unknown {
  const {
    enum: values,
    properties,
    required = [],
    items,
    type,
    format,
    minItems = 0,
    oneOf,
  } = resolved(schema);
  if (values) return values[0];
  if (oneOf?.[0]?.type === 'integer') return sampleOf(oneOf[0]);
  switch ([type].flat()[0]) {
    case 'integer':
    case 'number':
      return resolved(schema).minimum ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return Array.from({ length: minItems }, () => sampleOf(items ?? {}));
    case 'string':
      return format === 'date-time' ? '2026-11-20T00:00:00Z' : 'a'.repeat(resolved(schema).minLength ?? 1);
    default:
      return Object.fromEntries(required.map((name) => [name, sampleOf(properties?.[name] ?? {})]));
  }
}

/** Returns a value of a type that a schema does not accept, or undefined for a free-form member. */
function wrongTypeOf(schema: Schema): unknown {
  const { type, oneOf, anyOf } = resolved(schema);
  const types = type ?? [...(oneOf ?? []), ...(anyOf ?? [])].flatMap((one) => resolved(one).type ?? []);
  if (types.length === 0) return undefined;
  return ['string', 7, true, [7], { not: 'a member' }].find(
    (value) => ![types].flat().some((one) => (one === 'integer' ? 'number' : one) === jsonType(value)),
  );
}

const jsonType = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

/** A closed object within a body: its pointer, its schema, and a function that returns a body with a value in its place. */
interface ClosedObject {
  pointer: string;
  schema: Schema;
  around: (value: unknown) => unknown;
}

/** Returns the closed objects within an object, at any depth. */
function objectsIn({ pointer, schema, around }: ClosedObject): ClosedObject[] {
  return Object.entries(schema.properties!).flatMap(([name, member]) => {
    const within = (value: unknown): unknown => around({ ...(sampleOf(schema) as Body), [name]: value });
    const [own, element] = [resolved(member), resolved(resolved(member).items ?? {})];
    const closed: ClosedObject[] = [
      { pointer: `${pointer}/${name}`, schema: own, around: within },
      { pointer: `${pointer}/${name}/0`, schema: element, around: (value: unknown) => within([value]) },
    ].filter((one) => one.schema.additionalProperties === false);
    return closed.flatMap((one) => [one, ...objectsIn(one)]);
  });
}

describe('every write operation of openapi.json', () => {
  const app = sharedApp();
  let resources: Resources;

  beforeAll(async () => {
    resources = await Resources.in(app);
  });

  const send = (
    operation: DocumentedOperation,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> =>
    resources.callerOf(operation).request(operation.method, resources.pathOf(operation), { body, headers });

  const expectInvalid = (answer: Answer, sent: unknown, ...expected: string[]): void => {
    const { code, errors = [] } = answer.body as { code: string; errors?: { pointer?: string }[] };
    const pointers = errors.map((one) => one.pointer);
    expect({ sent, status: answer.status, code, pointers }).toEqual({
      sent,
      status: 400,
      code: 'invalid_request',
      pointers: expect.arrayContaining(expected) as unknown,
    });
  };

  const inWorkspace = (body: unknown): Body =>
    'workspace_id' in (body as Body)
      ? { ...(body as Body), workspace_id: resources.workspaceId }
      : (body as Body);

  /** Bulk operations return 207 with the error of each item. */
  const expectUnknown = (
    operation: DocumentedOperation,
    answer: Answer,
    sent: unknown,
    pointer: string,
  ): void => {
    const isOfItem = operation.statuses.includes('207') && pointer.startsWith('/items/');
    if (!isOfItem) return expectInvalid(answer, sent, pointer);
    const [item] = (answer.body as { items: { status_code: number; error: { errors: object[] } }[] }).items;
    expect([sent, item?.status_code]).toEqual([sent, 400]);
    expect(item!.error.errors).toContainEqual(expect.objectContaining({ pointer }));
  };

  it('is covered by these tests', () => {
    const bodies = OPERATIONS.filter(({ body }) => body !== null);
    expect(bodies.filter((one) => !WRITES.includes(one)).map(({ id }) => id)).toEqual([]);
    expect(WRITES.length).toBeGreaterThan(40);
    expect(CONDITIONAL.length).toBeGreaterThan(20);
    expect(FREE_FORM.length).toBeGreaterThan(30);
  });

  it.each(WRITES.map((one) => [one.id, one] as const))(
    'rejects an unknown member and names it: %s',
    async (_, operation) => {
      const body = { ...(sampleOf(operation.body!) as Body), unheard_of: 1 };
      const answer = await send(operation, body);
      expectInvalid(answer, body, '/unheard_of');
      expect((answer.body as { detail: string }).detail).toContain('unheard_of');
      const whole = { pointer: '', schema: operation.body!, around: (value: unknown) => value };
      for (const { pointer, around, schema } of objectsIn(whole)) {
        const nested = inWorkspace(around({ ...(sampleOf(schema) as Body), unheard_of: 1 }));
        expectUnknown(operation, await send(operation, nested), nested, `${pointer}/unheard_of`);
      }
    },
  );

  it('has only closed objects in its body, except the tools of MCP servers', () => {
    const { components } = committedDocument<{ components: { schemas: Record<string, Schema> } }>();
    const schemas = new Map(Object.entries(components.schemas).map(([name, schema]) => [schema, name]));
    const seen = new Set<Schema>();
    const open = (reference: Schema): string[] => {
      const schema = resolved(reference);
      if (seen.has(schema)) return [];
      seen.add(schema);
      const { properties = {}, items, oneOf = [], anyOf = [], allOf = [] } = schema;
      const parts = [...Object.values(properties), ...(items ? [items] : []), ...oneOf, ...anyOf, ...allOf];
      const isOpen = schema.properties && schema.additionalProperties !== false;
      return [...(isOpen ? [schemas.get(schema) ?? JSON.stringify(schema)] : []), ...parts.flatMap(open)];
    };
    expect(WRITES.flatMap(({ body }) => open(body!))).toEqual(['DeclaredTool']);
  });

  it.each(WRITES.map((one) => [one.id, one] as const))('accepts a gzipped body: %s', async (_, operation) => {
    const body = { ...(sampleOf(operation.body!) as Body), unheard_of: 1 };
    const answer = await send(operation, gzipSync(JSON.stringify(body)), { 'content-encoding': 'gzip' });
    expectInvalid(answer, body, '/unheard_of');
  });

  it.each(WRITES.map((one) => [one.id, one] as const))(
    'rejects members of a wrong type: %s',
    async (_, operation) => {
      const typed = Object.entries(operation.body!.properties!).flatMap(([name, schema]) => {
        const wrong = wrongTypeOf(schema);
        return wrong === undefined ? [] : [[name, wrong] as const];
      });
      // the workspace is checked before the other members
      const [first, others] = [true, false].map((isFirst) =>
        typed.filter(([name]) => (name === 'workspace_id') === isFirst),
      );
      for (const members of [first!, others!].filter((one) => one.length > 0)) {
        const body = { ...(sampleOf(operation.body!) as Body), ...Object.fromEntries(members) };
        expectInvalid(await send(operation, body), body, ...members.map(([name]) => `/${name}`));
      }
      expect(typed.length).toBeGreaterThan(0);
    },
  );

  it.each(WRITES.map((one) => [one.id, one] as const))(
    'rejects a body that is not a JSON object: %s',
    async (_, operation) => {
      for (const body of ['{"a": ', '[]', '"text"', 'null', '7']) {
        expectInvalid(await send(operation, body), body, '');
      }
    },
  );

  it.each(FREE_FORM.map((one) => [one.id, one] as const))(
    'rejects values that no free-form member can contain, and points to them: %s',
    async (_, operation) => {
      for (const name of freeFormIn(operation)) {
        const body = JSON.stringify({ ...(sampleOf(operation.body!) as Body), [name]: '@' });
        for (const text of ['{"a":[1e400]}', '{"a":["\\ud800"]}']) {
          const sent = body.replace('"@"', text);
          expectInvalid(await send(operation, sent), sent, `/${name}/a/0`);
        }
      }
    },
  );

  it.each(CONDITIONAL.map((one) => [one.id, one] as const))(
    'rejects a stale If-Match: %s',
    async (_, operation) => {
      const body = operation.body ? sampleOf(operation.body) : undefined;
      const answer = await send(operation, body, { 'if-match': '"0"' });
      expect([answer.status, answer.body.code]).toEqual([412, 'precondition_failed']);
    },
  );
});
