/**
 * The shape of a keyword's value: a schema, a list of schemas, schemas by name, a pattern, or a value with a rule. Covers
 * JSON Schema 2020-12, and `definitions` and `dependencies` of earlier drafts. Other keywords are annotations or unknown,
 * and are ignored as the standard requires.
 */
export type KeywordShape = 'schema' | 'schemas' | 'named' | 'named-or-names' | 'pattern' | ValueRule;

/** Returns the rule that a value breaks, or undefined. */
type ValueRule = (value: unknown) => string | undefined;

const TYPES = new Set(['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']);

const isText: ValueRule = (value) => (typeof value === 'string' ? undefined : 'must be a string');
const isNumber: ValueRule = (value) => (typeof value === 'number' ? undefined : 'must be a number');
const isBoolean: ValueRule = (value) => (typeof value === 'boolean' ? undefined : 'must be a boolean');
const isList: ValueRule = (value) => (Array.isArray(value) ? undefined : 'must be a list');
const isCount: ValueRule = (value) =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? undefined : 'must be an integer of 0 or more';
const isPositive: ValueRule = (value) =>
  typeof value === 'number' && value > 0 ? undefined : 'must be a number above 0';
const isNames: ValueRule = (value) =>
  Array.isArray(value) && value.every((name) => typeof name === 'string')
    ? undefined
    : 'must be a list of strings';

const isType: ValueRule = (value) => {
  const types: unknown[] = Array.isArray(value) ? value : [value];
  return types.length > 0 && types.every((type) => TYPES.has(type as string))
    ? undefined
    : `must be one or several of ${[...TYPES].join(', ')}`;
};

const isNamesByName: ValueRule = (value) =>
  isRecord(value) && Object.values(value).every((names) => isNames(names) === undefined)
    ? undefined
    : 'must be an object of lists of strings';

export const KEYWORDS: ReadonlyMap<string, KeywordShape> = new Map<string, KeywordShape>([
  ...(
    ['not', 'if', 'then', 'else', 'items', 'contains', 'additionalProperties', 'propertyNames'] as const
  ).map((keyword) => [keyword, 'schema'] as const),
  ['unevaluatedItems', 'schema'],
  ['unevaluatedProperties', 'schema'],
  ['allOf', 'schemas'],
  ['anyOf', 'schemas'],
  ['oneOf', 'schemas'],
  ['prefixItems', 'schemas'],
  ['properties', 'named'],
  ['patternProperties', 'named'],
  ['dependentSchemas', 'named'],
  ['$defs', 'named'],
  ['definitions', 'named'],
  ['dependencies', 'named-or-names'],
  ['$id', isText],
  ['$anchor', isText],
  ['$dynamicAnchor', isText],
  ['$ref', isText],
  ['$dynamicRef', isText],
  ['type', isType],
  ['enum', isList],
  ['const', () => undefined],
  ['multipleOf', isPositive],
  ['maximum', isNumber],
  ['exclusiveMaximum', isNumber],
  ['minimum', isNumber],
  ['exclusiveMinimum', isNumber],
  ['maxLength', isCount],
  ['minLength', isCount],
  ['pattern', 'pattern'],
  ['maxItems', isCount],
  ['minItems', isCount],
  ['uniqueItems', isBoolean],
  ['maxContains', isCount],
  ['minContains', isCount],
  ['maxProperties', isCount],
  ['minProperties', isCount],
  ['required', isNames],
  ['dependentRequired', isNamesByName],
  ['format', isText],
]);

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
