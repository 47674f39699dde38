import { ANY_JSON, VARIANTS_EXTENSION, type Variants } from '#platform/http';
import { canonicalJson } from '#platform/json';
import { pascalCase } from './names';
import { type Document, type Operation, operationsOf, type Schema } from './operation';

const ANY_JSON_TEXT = canonicalJson(ANY_JSON);

const JSON_OBJECT = { $ref: '#/components/schemas/JsonObject' };
const NULLABLE_JSON_OBJECT = { $ref: '#/components/schemas/NullableJsonObject' };
const JSON_VALUE = { $ref: '#/components/schemas/JsonValue' };

/**
 * The schemas of free-form values. The elements of arrays are not a reference, because TypeScript rejects the type that
 * openapi-typescript would make of it.
 */
const FREE_FORM: Record<string, Schema> = {
  JsonObject: { description: 'A JSON object with any members.', type: 'object', additionalProperties: true },
  NullableJsonObject: { anyOf: [JSON_OBJECT, { type: 'null' }] },
  JsonValue: {
    description: 'Any JSON value.',
    anyOf: [
      { type: 'object', additionalProperties: JSON_VALUE },
      { type: 'array', items: {} },
      { type: 'string' },
      { type: 'number' },
      { type: 'boolean' },
      { type: 'null' },
    ],
  },
};

/** Control characters as a range, because the regular expressions of Python and of JSON Schema validators lack `\p{Cc}`. */
const CONTROL_CHARACTERS = '\\u0000-\\u001f\\u007f-\\u009f';

/** Rewrites the schemas of a document so that generators of clients make good types of them. */
export function completeSchemas(document: Document): void {
  const schemas = (document.components.schemas ??= {});
  rewrite(document);
  for (const operation of operationsOf(document)) sortBodies(operation);
  for (const [name, schema] of Object.entries(schemas)) {
    schemas[name] = withOutcomes(schema);
    Object.assign(schemas, variantsOf(name, schemas[name]));
  }
  Object.assign(schemas, extended(schemas), FREE_FORM);
}

/** Schemas with fewer members are not worth extending. */
const EXTENDED_MIN = 4;

/**
 * Returns the schemas that extend another one: all its members are theirs too, and their names share a word, as `Skill` and
 * `SkillVersion`. Bodies are closed, so they extend nothing.
 */
function extended(schemas: Record<string, Schema>): Record<string, Schema> {
  const open = Object.entries(schemas).flatMap(
    ([name, { properties, required = [], additionalProperties }]) =>
      properties && additionalProperties === undefined
        ? [{ name, required, members: new Map(Object.entries(properties).map(asText)) }]
        : [],
  );
  const found: Record<string, Schema> = {};
  for (const { name, required, members } of open) {
    const [base] = open
      .filter((one) => one.members.size >= EXTENDED_MIN && one.members.size < members.size)
      .filter(
        (one) => sharesWord(one.name, name) && one.required.every((member) => required.includes(member)),
      )
      .filter((one) => [...one.members].every(([member, text]) => members.get(member) === text))
      .sort((a, b) => b.members.size - a.members.size || (a.name < b.name ? -1 : 1));
    if (!base) continue;
    const { properties = {}, description } = schemas[name]!;
    const own = Object.entries(properties).filter(([member]) => !base.members.has(member));
    const ownRequired = required.filter((member) => !base.required.includes(member));
    found[name] = {
      ...(description && { description }),
      allOf: [
        { $ref: `#/components/schemas/${base.name}` },
        {
          type: 'object',
          properties: Object.fromEntries(own),
          ...(ownRequired.length > 0 && { required: ownRequired }),
        },
      ],
    };
  }
  return found;
}

const asText = ([name, schema]: [string, Schema]): [string, string] => [name, canonicalJson(schema)];

const wordsOf = (name: string): string[] => name.match(/[A-Z][a-z0-9]*/g) ?? [];

const sharesWord = (name: string, other: string): boolean =>
  wordsOf(name).some((word) => wordsOf(other).includes(word));

/**
 * Moves the defaults of members to their descriptions, because openapi-typescript requires members with a `default`, even in
 * requests.
 */
function describeDefaults({ properties = {} }: Schema): void {
  for (const member of Object.values(properties)) {
    if (member.default === undefined) continue;
    const { default: value, description } = member;
    const text = `efault: \`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
    member.description = description ? `${description.replace(/\.$/, '')} (d${text}).` : `D${text}.`;
    delete member.default;
  }
}

/** Puts JSON first and forms second, because some generators only use the first media type. */
function sortBodies({ requestBody }: Operation): void {
  if (!requestBody) return;
  const rank = (media: string): number =>
    [/[/+]json$/, /form-data$/].findIndex((form) => form.test(media)) >>> 0;
  const media = Object.entries(requestBody.content).sort(([a], [b]) => rank(a) - rank(b));
  requestBody.content = Object.fromEntries(media);
}

/** Names the free-form values in a part of the document, and makes its patterns portable. */
function rewrite(part: unknown): void {
  if (typeof part !== 'object' || part === null) return;
  const schema = part as Schema;
  if (schema.oneOf && canonicalJson({ oneOf: schema.oneOf }) === ANY_JSON_TEXT) {
    delete schema.oneOf;
    Object.assign(schema, JSON_VALUE);
  }
  if (schema.additionalProperties === true && !schema.properties) {
    const isNullable = [schema.type].flat().includes('null');
    delete schema.additionalProperties;
    delete schema.type;
    Object.assign(schema, isNullable ? NULLABLE_JSON_OBJECT : JSON_OBJECT);
  }
  describeDefaults(schema);
  // generators know bytes by their format
  const { contentMediaType } = schema;
  if (contentMediaType !== undefined && contentMediaType !== 'application/json') schema.format = 'binary';
  // together with an exclusive minimum, a minimum that is not greater says nothing
  if (Number(schema.minimum) <= Number(schema.exclusiveMinimum)) delete schema.minimum;
  // the default of parameters and headers
  if ((part as { required?: unknown }).required === false) delete schema.required;
  if (typeof schema.pattern === 'string') {
    schema.pattern = schema.pattern.replaceAll('\\p{Cc}', CONTROL_CHARACTERS);
  }
  Object.values(part).forEach(rewrite);
}

/** Splits an item of a 207 response: it has either the stored object or the error. */
function withOutcomes(schema: Schema): Schema {
  const { properties = {}, required = [], description } = schema;
  const outcomes = Object.keys(properties).filter((name) => !required.includes(name));
  if (!properties.status_code || !outcomes.includes('error')) return schema;
  const branchOf = (outcome: string) => ({
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(properties).filter(([name]) => name === outcome || !outcomes.includes(name)),
    ),
    required: [...required, outcome],
  });
  return { ...(description && { description }), oneOf: outcomes.map(branchOf) };
}

/**
 * Splits an object with a member that decides which others it has into one schema for each value of that member, and a union
 * of these with a discriminator. Returns all of them by their names, or nothing for other objects.
 */
function variantsOf(name: string, { description, ...schema }: Schema): Record<string, Schema> {
  const { properties = {} } = schema;
  const tag = Object.keys(properties).find((member) => VARIANTS_EXTENSION in properties[member]!);
  if (tag === undefined) return {};
  const { [VARIANTS_EXTENSION]: declared, ...tagSchema } = properties[tag] as Schema & Declared;
  const specific = new Set(Object.values(declared).flatMap((members) => Object.keys(members)));
  const variants = Object.entries(declared).map(([value, members]) => {
    const variant: Schema = { ...schema, properties: {}, required: [...(schema.required ?? [])] };
    for (const [member, common] of Object.entries(properties)) {
      const own = members[member];
      if (member === tag) variant.properties![member] = { ...tagSchema, enum: [value] };
      else if (!specific.has(member)) variant.properties![member] = common;
      else if (own === undefined) variant.properties![member] = { type: 'null' };
      else variant.properties![member] = own === true ? withoutNull(common) : variantOf(common, own);
      if (own === true) variant.required!.push(member);
    }
    return [value, nameOfVariant(name, value), variant] as const;
  });
  const references = variants.map(([value, variant]) => [value, `#/components/schemas/${variant}`] as const);
  const union = {
    ...(description && { description }),
    oneOf: references.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: tag, mapping: Object.fromEntries(references) },
  };
  return { [name]: union, ...Object.fromEntries(variants.map(([, variant, one]) => [variant, one])) };
}

/** Returns the schema that a member has in a variant. */
const variantOf = (common: Schema, own: boolean | object): Schema =>
  typeof own === 'object' ? { description: common.description!, ...own } : common;

interface Declared {
  [VARIANTS_EXTENSION]: Variants;
}

/** Returns the name of a variant, with its value behind the verb: `CreateScorer` and `code` are `CreateCodeScorer`. */
const nameOfVariant = (schema: string, value: string): string =>
  schema.replace(/^(?:Create|Patch|Import)?/, (verb) => verb + pascalCase(value));

const withoutNull = (schema: Schema): Schema => {
  const [type = 'string', ...others] = [schema.type ?? []].flat().filter((one) => one !== 'null');
  return { ...schema, type: others.length === 0 ? type : [type, ...others] };
};
