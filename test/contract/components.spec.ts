import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { OpenAPIObject } from '@nestjs/swagger';
import { sharedApp, withOwnParameters } from '#testing';
import type { Schema } from './resources.fixture';

type Part = Record<string, unknown>;

interface Document extends Part {
  openapi: string;
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Part & { operationId: string; tags: string[]; summary: string }>>;
  components: Record<string, Record<string, Part>>;
}

/** Largest size of the served document, in bytes. */
const SIZE_MAX = 850_000;

/** Returns the objects in a part of the document, at any depth, with the key of each. */
function* objectsIn(part: unknown, key = ''): Generator<[string, Part]> {
  if (typeof part !== 'object' || part === null) return;
  if (!Array.isArray(part)) yield [key, part as Part];
  for (const [name, value] of Object.entries(part)) yield* objectsIn(value, name);
}

const referencesIn = (part: unknown): string[] =>
  [...JSON.stringify(part).matchAll(/"(#\/components\/[^"]+)"/g)].map((match) => match[1]!);

/** The names of the built-in types of TypeScript. */
const BUILT_IN = new Set(
  ['dom', 'es5', 'es2015.core', 'es2015.collection', 'es2015.promise', 'es2015.iterable'].flatMap((lib) =>
    [
      ...readFileSync(`node_modules/typescript/lib/lib.${lib}.d.ts`, 'utf8').matchAll(
        /^(?:declare var|interface|type|declare function) (\w+)/gm,
      ),
    ].map((match) => match[1]!),
  ),
);

/** Names that generators of Python code have to change. */
const PYTHON_KEYWORDS =
  /^(?:False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)$/;

describe('the OpenAPI document, for generators of clients', () => {
  const app = sharedApp();
  let served: string;
  let document: Document;

  beforeAll(async () => {
    served = await (await fetch(`${app.url}/openapi.json`)).text();
    document = withOwnParameters(JSON.parse(served) as Document & OpenAPIObject);
  });

  const operations = () => Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const schemas = () => document.components.schemas as Record<string, Schema & Part>;

  it('is small', () => {
    expect(Buffer.byteLength(served)).toBeLessThan(SIZE_MAX);
  });

  it('has components whose names are identifiers, and no built-in types', () => {
    const names = Object.values(document.components).flatMap((all) => Object.keys(all));
    expect(names.filter((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))).toEqual([]);
    const { schemas: types, responses } = document.components;
    const typed = [...Object.keys(types!), ...Object.keys(responses!)];
    expect(typed.filter((name) => BUILT_IN.has(name) || PYTHON_KEYWORDS.test(name))).toEqual([]);
    const functions = operations().map(({ operationId }) => operationId);
    expect(functions.filter((name) => PYTHON_KEYWORDS.test(name))).toEqual([]);
  });

  it('has patterns that JavaScript and Python accept', () => {
    const patterns = [...objectsIn(document)].flatMap(([, { pattern }]) =>
      typeof pattern === 'string' ? [pattern] : [],
    );
    expect(patterns.length).toBeGreaterThan(20);
    for (const pattern of patterns) expect(() => new RegExp(pattern)).not.toThrow();
    expect(patterns.filter((pattern) => /\\p/i.test(pattern))).toEqual([]);
    const script = 'import json, re, sys\nfor pattern in json.load(sys.stdin): re.compile(pattern)';
    const { status, stderr } = spawnSync('python3', ['-c', script], { input: JSON.stringify(patterns) });
    expect([status, stderr.toString()]).toEqual([0, '']);
  });

  it('has one type for any JSON value', () => {
    expect(schemas().JsonValue!.anyOf).toContainEqual({
      type: 'object',
      additionalProperties: { $ref: '#/components/schemas/JsonValue' },
    });
    const unions = [...objectsIn(document)].filter(([, { oneOf, anyOf }]) =>
      [oneOf, anyOf].some(
        (all) => Array.isArray(all) && all.length === 6 && !JSON.stringify(all).includes('Check'),
      ),
    );
    expect(unions.map(([name]) => name)).toEqual(['JsonValue']);
  });

  it('contains parameters, headers and responses only once', () => {
    const seen = new Set<string>();
    const repeated: string[] = [];
    const add = (kind: string, part: object) => {
      if ('$ref' in part) return;
      const text = `${kind} ${JSON.stringify(part)}`;
      if (seen.has(text)) repeated.push(text);
      seen.add(text);
    };
    for (const operation of operations()) {
      for (const parameter of (operation.parameters ?? []) as object[]) add('parameter', parameter);
      for (const response of Object.values(operation.responses as Record<string, Part>)) {
        add('response', response);
        for (const [name, header] of Object.entries(response.headers ?? {})) add(name, header as object);
      }
    }
    expect(repeated).toEqual([]);
  });

  it('discriminates unions by a member that each alternative has', () => {
    const unions = [...objectsIn(document)].filter(([, { discriminator }]) => discriminator);
    expect(unions.map(([name]) => name)).toEqual(
      expect.arrayContaining(['CreateScorer', 'ApiAuth', 'ServerAuth', 'items', 'output']),
    );
    for (const [name, union] of unions) {
      const { propertyName, mapping } = union.discriminator as {
        propertyName: string;
        mapping: Record<string, string>;
      };
      expect([name, Object.values(mapping)]).toEqual([
        name,
        (union.oneOf as Schema[]).map((one) => one.$ref),
      ]);
      for (const [value, reference] of Object.entries(mapping)) {
        const { properties, required } = schemas()[reference.split('/').at(-1)!]!;
        expect([value, properties![propertyName]!.enum, required!.includes(propertyName)]).toEqual([
          value,
          [value],
          true,
        ]);
      }
    }
  });

  it('has items of bulk responses that have either the stored object or the error', () => {
    const items = Object.entries(schemas()).filter(([, { oneOf = [] }]) => oneOf[0]?.properties?.status_code);
    expect(items.map(([name]) => name)).toEqual(
      expect.arrayContaining(['BulkRecordItem', 'BulkResultItem', 'RecordFromTrace']),
    );
    for (const [, { oneOf = [] }] of items) {
      const branches = oneOf.map(({ properties = {}, required = [] }) => [Object.keys(properties), required]);
      expect(branches).toHaveLength(2);
      for (const [members, required] of branches) expect([...members!].sort()).toEqual([...required!].sort());
      expect(oneOf[1]!.required).toContain('error');
    }
    const open = Object.values(schemas()).filter(
      ({ properties = {} }) => properties.status_code && properties.index && properties.error,
    );
    expect(open).toEqual([]);
  });

  it('requires no member that has a default, and declares defaults as text', () => {
    const members = [...objectsIn(document.components.schemas)].flatMap(([, { properties = {} }]) =>
      Object.entries(properties as Record<string, Part>),
    );
    expect(members.filter(([, member]) => 'default' in member)).toEqual([]);
    const required = Object.entries(schemas()).flatMap(([name, { properties = {}, required: all = [] }]) =>
      all
        .filter((member) => /efault: `/.test(String((properties[member] as Part | undefined)?.description)))
        .map((member) => `${name}.${member}`),
    );
    expect(required).toEqual([]);
  });

  it('has JSON before forms, and forms before bytes', () => {
    const bodies = Object.fromEntries(
      operations().flatMap(({ operationId, requestBody }) => {
        const media = Object.keys((requestBody as { content?: object } | undefined)?.content ?? {});
        return media.length > 1 ? [[operationId, media]] : [];
      }),
    );
    expect(bodies).toMatchObject({
      createFile: ['multipart/form-data', '*/*'],
      createDatasetVersion: ['application/json', 'multipart/form-data', 'text/csv'],
      ingestTraces: ['application/json', 'application/x-protobuf'],
    });
  });

  it.each(['createExperiment', 'createScorer', 'listRecords', 'forwardGet', 'exchangeToken'])(
    'has a document for one operation, with exactly the components that it uses: %s',
    async (id) => {
      const { status, body } = await app.api().get<Document>(`/openapi.json?operation=${id}`);
      expect(status).toBe(200);
      const all = Object.values(body.paths).flatMap((methods) => Object.values(methods));
      expect(all.map(({ operationId }) => operationId)).toEqual([id]);
      const [own] = operations().filter(({ operationId }) => operationId === id);
      expect(all).toEqual([{ ...own, parameters: expect.arrayContaining(own!.parameters as object[]) }]);
      expect(body.tags.map(({ name }) => name)).toEqual(all[0]!.tags);
      const { securitySchemes, ...components } = body.components;
      expect(Object.keys(securitySchemes ?? {})).toEqual(id === 'exchangeToken' ? [] : ['bearer']);
      const present = Object.entries(components).flatMap(([kind, some]) =>
        Object.keys(some).map((name) => `#/components/${kind}/${name}`),
      );
      expect(present.sort()).toEqual([...new Set(referencesIn({ paths: body.paths, components }))].sort());
    },
  );

  it('explains which operations exist if one is unknown', async () => {
    const unknown = await app.api().get('/openapi.json?operation=createExperiments');
    expect([unknown.status, unknown.body.code]).toEqual([404, 'not_found']);
    expect(unknown.body.detail).toContain('createExperiment');
    for (const query of ['operation=', 'operation=getDataset&operation=getScorer', 'operations=getDataset']) {
      const { status, body } = await app.api().get(`/openapi.json?${query}`);
      expect([query, status, body.code]).toEqual([query, 400, 'invalid_query']);
    }
  });

  it('is listed in llms.txt, an operation in a line', async () => {
    const text = await (await fetch(`${app.url}/llms.txt`)).text();
    expect(text).toMatch(/^# public API\n\n> /);
    const lines = text.split('\n').filter((line) => line.includes('?operation='));
    const expected = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { operationId, summary }]) =>
          `- [${operationId}](/openapi.json?operation=${operationId}): ${method.toUpperCase()} ${path}: ${summary}`,
      ),
    );
    expect(lines.sort()).toEqual(expected.sort());
    for (const { name } of document.tags) expect(text).toContain(`\n## ${name}\n`);
  });
});
