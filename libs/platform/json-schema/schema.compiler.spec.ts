import { RawJson } from '#platform/json';
import { compileJsonSchema, JsonSchemaCache } from './schema.compiler';
import type { SchemaViolation } from './schema.compiler';
import { SchemaError } from './schema.normalizer';

describe('compileJsonSchema', () => {
  const violations = (schema: unknown, value: unknown): SchemaViolation[] =>
    compileJsonSchema(schema).validate(value);
  const isValid = (schema: unknown, value: unknown): boolean => violations(schema, value).length === 0;
  function rejection(schema: unknown): { pointer: string; detail: string } {
    try {
      compileJsonSchema(schema);
    } catch (error) {
      expect(error).toBeInstanceOf(SchemaError);
      const { pointer, message } = error as SchemaError;
      return { pointer, detail: message };
    }
    throw new Error('the schema was accepted');
  }

  it('reports all violations, with pointers into the value', () => {
    const schema = {
      type: 'object',
      required: ['name', 'a/b'],
      properties: {
        name: { type: 'string' },
        age: { type: 'integer', minimum: 0 },
        kind: { enum: ['a', 'b'] },
        'a/b': true,
      },
      additionalProperties: false,
    };
    expect(violations(schema, { name: 1, age: -1, kind: 'c', extra: true })).toEqual(
      expect.arrayContaining([
        { pointer: '/a~1b', detail: 'is required' },
        { pointer: '/name', detail: 'must be string' },
        { pointer: '/age', detail: 'must be >= 0' },
        { pointer: '/kind', detail: 'must be one of ["a","b"]' },
        { pointer: '/extra', detail: 'is not allowed' },
      ]),
    );
    expect(violations(schema, { name: 'n', 'a/b': 1 })).toEqual([]);
  });

  it('supports the keywords of 2020-12', () => {
    const tuple = { prefixItems: [{ type: 'string' }, { type: 'number' }], items: false };
    expect(isValid(tuple, ['a', 1])).toBe(true);
    expect(isValid(tuple, ['a', 1, 2])).toBe(false);
    const sealed = {
      allOf: [{ properties: { a: true } }],
      properties: { b: true },
      unevaluatedProperties: false,
    };
    expect(isValid(sealed, { a: 1, b: 2 })).toBe(true);
    expect(isValid(sealed, { c: 3 })).toBe(false);
    const tree = {
      $id: 'https://example.com/tree',
      $dynamicAnchor: 'node',
      properties: { children: { type: 'array', items: { $dynamicRef: '#node' } } },
    };
    expect(isValid(tree, { children: [{ children: [] }] })).toBe(true);
    expect(isValid(tree, { children: [{ children: 1 }] })).toBe(false);
    expect(isValid({ dependentRequired: { a: ['b'] } }, { a: 1 })).toBe(false);
    expect(isValid({ contains: { const: 1 }, minContains: 2 }, [1, 2, 1])).toBe(true);
  });

  it('tells several patterns of a schema apart', () => {
    const schema = {
      properties: { a: { pattern: '^a' }, b: { pattern: '^b' } },
      patternProperties: { '^c': false },
    };
    expect(isValid(schema, { a: 'a1', b: 'b1' })).toBe(true);
    expect(violations(schema, { a: 'b1', b: 'b1' })).toMatchObject([{ pointer: '/a' }]);
    expect(violations(schema, { a: 'a1', b: 'a1' })).toMatchObject([{ pointer: '/b' }]);
    expect(isValid(schema, { c1: 1 })).toBe(false);
  });

  it('follows references inside the schema and rejects all others', () => {
    const schema = { $defs: { name: { type: 'string' } }, properties: { a: { $ref: '#/$defs/name' } } };
    expect(isValid(schema, { a: 'x' })).toBe(true);
    expect(isValid(schema, { a: 1 })).toBe(false);
    for (const $ref of ['https://example.com/schema', 'file:///etc/passwd', 'other.json', '#/$defs/none']) {
      expect(rejection({ $ref }).detail).toContain('References must point inside the schema');
    }
  });

  it('isolates schemas with the same $id', () => {
    const one = compileJsonSchema({
      $id: 'https://example.com/s',
      $defs: { v: { $anchor: 'v', const: 1 } },
      $ref: '#v',
    });
    const two = compileJsonSchema({ $id: 'https://example.com/s', const: 2 });
    expect([one.validate(1), two.validate(2)]).toEqual([[], []]);
    expect([one.validate(2).length, two.validate(1).length]).toEqual([1, 1]);
    expect(rejection({ $ref: 'https://example.com/s' }).detail).toContain('does not resolve');
  });

  it('requires own members', () => {
    expect(isValid({ required: ['toString'] }, {})).toBe(false);
    expect(isValid({ required: ['__proto__'] }, {})).toBe(false);
    expect(isValid({ required: ['__proto__'] }, JSON.parse('{"__proto__": 1}'))).toBe(true);
    expect(isValid(JSON.parse('{"properties": {"__proto__": {"type": "string"}}}'), {})).toBe(true);
    expect(({} as { type?: string }).type).toBeUndefined();
  });

  it('names each missing member of a long list, and requires own members there too', () => {
    const names = ['a', 'b', 'toString', '__proto__', 'c'];
    expect(violations({ required: names }, { a: 1 }).map((one) => one.pointer)).toEqual(
      names.slice(1).map((name) => `/${name}`),
    );
    const value = JSON.parse('{"a":1,"b":1,"toString":1,"__proto__":1,"c":1}') as unknown;
    expect(isValid({ required: names }, value)).toBe(true);
    expect(isValid({ enum: ['a', 1, null, [1], { a: 1 }] }, { a: 1 })).toBe(true);
    expect(isValid({ enum: ['a', 1, null, [1], { a: 1 }] }, '1')).toBe(false);
  });

  it('rejects long lists of dependent names, which take quadratic time to compile', () => {
    const names = (count: number) => Array.from({ length: count }, (_, n) => `n${n}`);
    const groups = (count: number, length: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`x${n}`, names(length)]));
    expect(rejection({ dependentRequired: groups(9, 1_000) })).toEqual({
      pointer: '/dependentRequired/x0',
      detail: 'the list has 1000 names, more than the maximum of 100',
    });
    const half = { dependentRequired: groups(5, 100) };
    expect(rejection({ $defs: { a: half, b: half }, $ref: '#/$defs/a' })).toEqual({
      pointer: '/$defs/b/dependentRequired/x4',
      detail: expect.stringContaining('more than 1000 members'),
    });
    expect(rejection({ dependencies: { x: names(101) } }).pointer).toBe('/dependencies/x');
    expect(isValid({ dependentRequired: groups(9, 100) }, { x0: 1 })).toBe(false);
    expect(isValid({ dependencies: { x: names(100) } }, { y: 1 })).toBe(true);
  });

  it('ignores unknown keywords, even those that the validator extends', () => {
    expect(isValid({ nullable: true, type: 'string', 'x-own': 1, title: 1 }, 'a')).toBe(true);
    expect(isValid({ nullable: true, type: 'string' }, null)).toBe(false);
    expect(violations({ $async: true, type: 'string' }, 1)).toEqual([
      { pointer: '', detail: 'must be string' },
    ]);
  });

  it.each<[unknown, string, string]>([
    [null, '', 'a schema is an object or a boolean'],
    ['string', '', 'a schema is an object or a boolean'],
    [{ type: 'text' }, '/type', 'must be one or several of'],
    [{ properties: { a: { minLength: -1 } } }, '/properties/a/minLength', 'integer of 0 or more'],
    [{ required: 'a' }, '/required', 'list of strings'],
    [{ anyOf: [] }, '/anyOf', 'one or more schemas'],
    [{ items: [{ type: 'string' }] }, '/items', 'a schema is an object or a boolean'],
    [{ properties: { 'a/b': { pattern: '(?=a)' } } }, '/properties/a~1b/pattern', 'lookahead'],
    [{ patternProperties: { '[': true } }, '/patternProperties/[', 'missing closing ]'],
    [{ $schema: 'http://json-schema.org/draft-07/schema#' }, '/$schema', 'only JSON Schema 2020-12'],
    [{ multipleOf: 0 }, '/multipleOf', 'above 0'],
  ])('rejects %j with a pointer', (schema, pointer, detail) => {
    expect(rejection(schema)).toEqual({ pointer, detail: expect.stringContaining(detail) });
  });

  it('accepts the $schema of its dialect', () => {
    expect(isValid({ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'null' }, null)).toBe(
      true,
    );
    expect([isValid(true, 1), isValid(false, 1)]).toEqual([true, false]);
  });

  it('asserts formats', () => {
    const ok: Record<string, string> = {
      date: '2026-02-28',
      'date-time': '2026-02-28T01:02:03Z',
      email: 'a@example.com',
      uri: 'https://example.com/a?b',
      uuid: '6f1c2a4e-8a0b-4c55-9a53-0a1b2c3d4e5f',
      ipv4: '192.0.2.1',
      regex: '^a+$',
    };
    for (const [format, value] of Object.entries(ok)) {
      expect(isValid({ format }, value)).toBe(true);
      expect(isValid({ format }, `${value} (`)).toBe(false);
    }
    expect(isValid({ format: 'unheard-of' }, 'x')).toBe(true);
    expect(isValid({ format: 'email' }, `a@${'a'.repeat(400)}.com`)).toBe(false);
  });

  describe('with hostile schemas and values', () => {
    it('rejects a value if the schema only refers to itself', () => {
      expect(violations({ $ref: '#' }, 1)).toHaveLength(1);
    });

    it('matches patterns in linear time', () => {
      expect(violations({ pattern: '^(a+)+$' }, `${'a'.repeat(50_000)}!`)).toHaveLength(1);
    });

    it('checks unique items in time linear in their number', () => {
      const items = Array.from({ length: 20_000 }, (_, i) => ({ i, same: [true] }));
      expect(isValid({ uniqueItems: true }, items)).toBe(true);
      expect(isValid({ uniqueItems: true }, [...items, { same: [true], i: 7 }])).toBe(false);
      expect(isValid({ uniqueItems: true }, [1, '1', true, 'true', null, 'null', [1], ['1']])).toBe(true);
      expect(
        isValid({ uniqueItems: true }, [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ]),
      ).toBe(false);
      expect(isValid({ uniqueItems: false }, [1, 1])).toBe(true);
    });

    it('reports at most 20 violations', () => {
      expect(violations({ items: { type: 'string' } }, Array(1_000).fill(1))).toHaveLength(20);
    });

    it('validates deeply nested values, up to the limit of the stack', () => {
      const tree = { type: 'array', items: { $ref: '#' } };
      const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);
      expect(violations(tree, nested(500))).toEqual([]);
      expect(violations(tree, nested(100_000))).toEqual([
        {
          pointer: '',
          detail: 'is nested too deeply to be validated against this schema',
          isUndecided: true,
        },
      ]);
    });

    it.each<[string, unknown, string]>([
      ['too long', { description: 'x'.repeat(70_000) }, 'the maximum of 65536'],
      ['too deep', JSON.parse(`${'{"items":'.repeat(70)}{}${'}'.repeat(70)}`), 'more than 64 levels'],
      [
        'too deep in a constant',
        { const: JSON.parse(`${'['.repeat(30_000)}${']'.repeat(30_000)}`) },
        'too deeply',
      ],
      ['too many', { anyOf: Array(501).fill({}) }, 'more than 500 subschemas'],
      [
        'patterns too large together',
        { anyOf: Array.from({ length: 20 }, (_, i) => ({ pattern: `a{${980 + i}}b{990}` })) },
        'too large in total',
      ],
    ])('rejects a schema that is %s', (_, schema, detail) => {
      expect(rejection(schema).detail).toContain(detail);
    });
  });
});

describe('JsonSchemaCache', () => {
  it('compiles the same schema once, and drops the least recently used', () => {
    const cache = new JsonSchemaCache(2);
    const first = cache.compile({ const: 1 });
    expect(cache.compile({ const: 1 })).toBe(first);
    cache.compile({ const: 2 });
    cache.compile({ const: 3 });
    expect(cache.compile({ const: 1 })).not.toBe(first);
  });

  it('accepts a schema as JSON text', () => {
    const cache = new JsonSchemaCache();
    const schema = cache.compile(new RawJson('{"const":1}'));
    expect([schema.validate(1), schema.validate(2)]).toEqual([
      [],
      [expect.objectContaining({ pointer: '' })],
    ]);
    expect(cache.compile(new RawJson('{"const":1}'))).toBe(schema);
    expect(() => cache.compile(new RawJson('{"type":"nothing"}'))).toThrow('type must be one');
  });
});
