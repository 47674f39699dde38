import fc from 'fast-check';

/** A schema of the OpenAPI document. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  additionalProperties?: boolean | Schema;
  minimum?: number;
  maximum?: number;
}

export type Schemas = Record<string, Schema>;

/** Valid values by member name. Mainly ids, which cannot be derived from a schema. */
export type Known = Record<string, readonly unknown[]>;

/** Prefix of a string that stands for a number, followed by a spelling that JavaScript would change. */
const NUMBER_MARK = '\ue000number ';

/** Returns a generated value as JSON. */
export const generatedJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(new RegExp(`"${NUMBER_MARK}([^"]+)"`, 'g'), '$1');

/** Values that break careless code, for any member. */
export const AWKWARD: readonly unknown[] = [
  ...[
    '9007199254740993',
    '-1795459000000000001',
    '1.0',
    '-0',
    '1E+2',
    '0.1000000000000000000001',
    '1e-999999',
    '1e400',
  ].map((literal) => `${NUMBER_MARK}${literal}`),
  'a\u0000b',
  ...[null, true, 0, -1, 1e308, 5e-324, 2_147_483_648, 9_007_199_254_740_992, '', ' ', '0'],
  ...['\u0000', '\ufe0f', '__proto__', '\u2028', '😀'.repeat(300), 'é'.repeat(5_000), '%', "'", '\\'],
  ...[
    '{}',
    [],
    [[]],
    {},
    [null],
    { toJSON: 1 },
    { length: 1 },
    { constructor: { prototype: 1 } },
    ['a', 'a'],
  ],
];

/** Any JSON value, with strings of any characters. */
export const ANYTHING = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...AWKWARD) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }) },
);

const DEPTH_MAX = 4;

/** Generates mostly values that match schemas, and some that do not. */
export class GeneratedValues {
  constructor(
    private readonly schemas: Schemas,
    private readonly known: Known,
  ) {}

  /** Generates values, most of which match a schema. */
  of(schema: Schema, name = '', depth = 0): fc.Arbitrary<unknown> {
    const knownValues = this.known[name];
    const fitting = this.fitting(this.resolved(schema), depth);
    return fc.oneof(
      { weight: 12, arbitrary: knownValues ? fc.constantFrom(...knownValues) : fitting },
      { weight: knownValues ? 1 : 0, arbitrary: fitting },
      { weight: 1, arbitrary: ANYTHING },
    );
  }

  private resolved(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    return this.schemas[schema.$ref.split('/').at(-1)!] ?? {};
  }

  private fitting(schema: Schema, depth: number): fc.Arbitrary<unknown> {
    if (schema.enum) return fc.constantFrom(...schema.enum, 'other');
    const branches = schema.oneOf ?? schema.anyOf ?? schema.allOf;
    if (branches) return fc.oneof(...branches.map((one) => this.fitting(this.resolved(one), depth)));
    const types = schema.type === undefined ? ['any'] : [schema.type].flat();
    return fc.oneof(...types.map((type) => this.ofType(type, schema, depth)));
  }

  private ofType(type: string, schema: Schema, depth: number): fc.Arbitrary<unknown> {
    switch (type) {
      case 'null':
        return fc.constant(null);
      case 'boolean':
        return fc.boolean();
      case 'integer':
        return fc.oneof(
          fc.integer({ min: schema.minimum ?? -2, max: 20 }),
          fc.constantFrom(schema.maximum ?? 0, 100),
        );
      case 'number':
        return fc.oneof(fc.constantFrom(0, 0.1, 1, 100), fc.double({ noNaN: true, noDefaultInfinity: true }));
      case 'string':
        return schema.format === 'date-time'
          ? fc.constantFrom('2026-11-20T00:00:00Z', '2026-11-21T23:59:60+01:00', '2026-02-30T00:00:00Z')
          : fc.oneof(
              fc.constantFrom('a', 'b', 'c'),
              fc.string({ maxLength: 20 }),
              fc.string({ unit: 'binary', maxLength: 8 }),
            );
      case 'array':
        return depth > DEPTH_MAX
          ? fc.constant([])
          : fc.array(this.of(schema.items ?? {}, '', depth + 1), { maxLength: 5 });
      case 'object':
        return depth > DEPTH_MAX ? fc.constant({}) : this.object(schema, depth);
      default:
        return fc.jsonValue({ maxDepth: 2 });
    }
  }

  /**
   * Generates objects. 18 of 20 have all required members, and 1 of 20 has an unknown member. Half of them have at most
   * three optional members, because with many of them almost always one is invalid.
   */
  private object(
    { properties, required = [], additionalProperties }: Schema,
    depth: number,
  ): fc.Arbitrary<object> {
    if (!properties) {
      const of =
        typeof additionalProperties === 'object' ? this.of(additionalProperties, '', depth + 1) : ANYTHING;
      return fc.dictionary(fc.constantFrom('a', 'b', '__proto__', '10', 'é'), of, { maxKeys: 3 });
    }
    const members = Object.fromEntries(
      Object.entries(properties).map(([name, one]) => [name, this.of(one, name, depth + 1)]),
    );
    const record = (requiredKeys: string[]) => fc.record(members, { requiredKeys });
    const optional = Object.keys(members).filter((name) => !required.includes(name));
    const whole = record(required.filter((name) => name in members));
    const small = fc
      .tuple(whole, fc.subarray(optional, { minLength: Math.max(optional.length - 3, 0) }))
      .map(([one, left]) => Object.fromEntries(Object.entries(one).filter(([name]) => !left.includes(name))));
    return fc.oneof(
      { weight: 9, arbitrary: whole },
      { weight: 9, arbitrary: small },
      { weight: 1, arbitrary: record([]) },
      { weight: 1, arbitrary: record([]).map((one) => ({ ...one, unheard_of: 1 })) },
    );
  }

  /** Generates copies of an example with known ids and names, unchanged or changed in up to three places. */
  mutated(example: unknown): fc.Arbitrary<unknown> {
    const mutation = fc.record({ place: fc.nat(), how: fc.constantFrom(...HOWS), value: ANYTHING });
    return fc
      .tuple(fc.nat(), fc.array(mutation, { maxLength: 3 }))
      .map(([chosen, mutations]) => mutations.reduce(mutate, this.withKnown(example, chosen)));
  }

  /** Returns a copy of an example that refers to existing objects. */
  private withKnown(example: unknown, chosen: number, name = ''): unknown {
    const knownValues = this.known[name] ?? [];
    if (/_ids?$/.test(name) && knownValues.length > 0) return structuredClone(knownValues[0]);
    if (name === 'name' && knownValues.length > 0) return knownValues[chosen % knownValues.length];
    if (Array.isArray(example)) return example.map((one) => this.withKnown(one, chosen));
    if (typeof example !== 'object' || example === null) return example;
    return Object.fromEntries(
      Object.entries(example).map(([member, value]) => [member, this.withKnown(value, chosen, member)]),
    );
  }
}

const HOWS = ['replace', 'delete', 'add', 'repeat', 'wrap'] as const;

interface Mutation {
  place: number;
  how: (typeof HOWS)[number];
  value: unknown;
}

/** Changes one place of a JSON value. */
function mutate(root: unknown, { place, how, value }: Mutation): unknown {
  const holder = { root };
  const places = placesOf(holder);
  const [parent, key] = places[place % places.length]!;
  const present = (parent as Record<string, unknown>)[key];
  const set = (made: unknown): void => {
    Object.defineProperty(parent, key, { value: made, enumerable: true, writable: true, configurable: true });
  };
  if (how === 'replace') set(value);
  else if (how === 'wrap') set([present]);
  else if (how === 'delete' && parent !== holder) Reflect.deleteProperty(parent, key);
  else if (how === 'repeat' && Array.isArray(present)) present.push(...structuredClone(present));
  else if (typeof present === 'object' && present !== null) Object.assign(present, { unheard_of: value });
  // deleting from an array leaves a hole, which JSON does not have
  return JSON.parse(JSON.stringify(holder.root ?? null)) as unknown;
}

/** Returns all nested values, each as its parent and key. */
function placesOf(value: object): [parent: object, key: string][] {
  return Object.entries(value).flatMap(([key, one]: [string, unknown]) => [
    [value, key] as [object, string],
    ...(typeof one === 'object' && one !== null ? placesOf(one) : []),
  ]);
}
