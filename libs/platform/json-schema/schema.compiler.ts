import { Ajv2020 } from 'ajv/dist/2020';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020';
import { LRUCache } from 'lru-cache';
import { canonicalJson, RawJson } from '#platform/json';
import { LinearRegExp } from '#platform/linear-regexp';
import { FORMATS } from './schema.formats';
import { normalizeSchema, pointerTo, SchemaError } from './schema.normalizer';

const MAX_VIOLATIONS = 20;
/** Length from which a list of names or values is compiled to a loop instead of code for each element. */
const LOOP_FROM = 3;

/** A violation of a schema. `pointer` (RFC 6901) refers to the value. */
export interface SchemaViolation {
  pointer: string;
  detail: string;
  /** True if validation gave up, so that it is unknown whether the value is valid. */
  isUndecided?: true;
}

/** A compiled schema. */
export interface CompiledSchema {
  /**
   * Returns up to 20 violations; none for a valid value. A value that is nested too deeply counts as invalid. A hostile
   * schema may take long, so call it where it can be terminated.
   *
   * @param isLarge returns only the first violation, because all violations of a large value may exceed the memory
   */
  validate(value: unknown, isLarge?: boolean): SchemaViolation[];
}

/**
 * Compiles a JSON Schema 2020-12 that a user wrote. This takes up to half a second, so call it in a thread.
 *
 * References reach only inside the schema; nothing is ever fetched. `pattern` and `patternProperties` are matched in
 * linear time, see {@link LinearRegExp} for their syntax. The formats date, time, date-time, duration, email, hostname,
 * ipv4, ipv6, uri, uri-reference, uuid, json-pointer and regex are asserted; others are annotations. Unknown keywords
 * are ignored. Schemas are compiled separately, so no schema can refer to the `$id` of another. At most 65,536 characters,
 * 64 levels, 500 subschemas, and 1,000 names in `dependentRequired` and `dependencies`, 100 in each list.
 *
 * @throws SchemaError if the schema cannot be used
 */
export function compileJsonSchema(schema: unknown): CompiledSchema {
  const normalized = normalizeSchema(schema);
  const first = compile(normalized, false);
  let all: ValidateFunction | undefined;
  return {
    validate(value, isLarge = false) {
      try {
        if (first(value)) return [];
        if (isLarge) return takeViolations(first);
        all ??= compile(normalized, true);
        all(value);
        return takeViolations(all);
      } catch (error) {
        if (error instanceof RangeError) return [TOO_DEEP];
        throw error;
      }
    },
  };
}

/** Caches compiled schemas by their text. The least recently used are dropped first. */
export class JsonSchemaCache {
  private readonly compiled: LRUCache<string, CompiledSchema>;

  /** @param max number of schemas. A compiled one takes up to 2 MiB */
  constructor(max = 50) {
    this.compiled = new LRUCache({ max });
  }

  /**
   * Compiles a schema, given as a value or as JSON text.
   *
   * @throws SchemaError like {@link compileJsonSchema}
   */
  compile(schema: unknown): CompiledSchema {
    const key = schema instanceof RawJson ? schema.text : textOf(schema);
    const cached = this.compiled.get(key);
    if (cached) return cached;
    const compiled = compileJsonSchema(schema instanceof RawJson ? schema.parse() : schema);
    this.compiled.set(key, compiled);
    return compiled;
  }
}

const TOO_DEEP: SchemaViolation = {
  pointer: '',
  detail: 'is nested too deeply to be validated against this schema',
  isUndecided: true,
};

/** Returns the violations of the last validation, and removes them from the function to free their memory. */
function takeViolations(validate: ValidateFunction): SchemaViolation[] {
  const violations = (validate.errors ?? []).slice(0, MAX_VIOLATIONS).map(describe);
  validate.errors = null;
  return violations;
}

function compile(schema: Record<string, unknown> | boolean, allErrors: boolean): ValidateFunction {
  const regExp = (pattern: string) => LinearRegExp.compile(pattern);
  const ajv = new Ajv2020({
    allErrors,
    meta: false,
    validateSchema: false,
    strict: false,
    logger: false,
    ownProperties: true,
    // code for each name of a list takes a hundred times as long to compile as a loop
    loopRequired: LOOP_FROM,
    loopEnum: LOOP_FROM,
    code: { optimize: false, regExp: Object.assign(regExp, { code: 'new RegExp' }) },
    formats: FORMATS,
  });
  // The library's own keyword compares every pair of items.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not contain duplicate items' },
    validate: (isRequired: boolean, items: unknown[]) =>
      !isRequired || new Set(items.map(canonicalJson)).size === items.length,
  });
  try {
    return ajv.compile(schema);
  } catch (error) {
    throw new SchemaError('', explain(error as Error));
  }
}

function explain(error: Error & { missingRef?: string }): string {
  if (error instanceof RangeError) return 'the schema is too large to be compiled';
  if (error.missingRef === undefined) return `the schema cannot be compiled: ${error.message}`;
  return `$ref "${error.missingRef}" does not resolve. References must point inside the schema`;
}

function describe({ instancePath, keyword, params, message = 'is not valid' }: ErrorObject): SchemaViolation {
  switch (keyword) {
    case 'required':
      return { pointer: pointerTo(instancePath, params.missingProperty as string), detail: 'is required' };
    case 'additionalProperties':
      return {
        pointer: pointerTo(instancePath, params.additionalProperty as string),
        detail: 'is not allowed',
      };
    case 'unevaluatedProperties':
      return {
        pointer: pointerTo(instancePath, params.unevaluatedProperty as string),
        detail: 'is not allowed',
      };
    case 'enum':
      return {
        pointer: instancePath,
        detail: `must be one of ${textOf(params.allowedValues).slice(0, 500)}`,
      };
    case 'const':
      return { pointer: instancePath, detail: `must be ${textOf(params.allowedValue).slice(0, 500)}` };
    default:
      return { pointer: instancePath, detail: message };
  }
}

function textOf(value: unknown): string {
  return JSON.stringify(value) ?? 'undefined';
}
