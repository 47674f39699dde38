import { Ajv2020 } from 'ajv/dist/2020';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020';
import { LRUCache } from 'lru-cache';
import { LinearRegExp } from '#platform/linear-regexp';
import { EvaluationMeter, TooCostly } from './evaluation.meter';
import { formatsOf } from './schema.formats';
import { COST_KEYWORD, normalizeSchema } from './schema.normalizer';
import type { EvaluationCost } from './schema.normalizer';
import { pointerTo, SchemaRefused } from './schema.refused';
import { hasDuplicates } from './unique.items';

/** What a validation may cost, in units of about 50 ns; a record of 1 MB under an ordinary schema costs a tenth. */
const MAX_COST = 20_000_000;
/** What the second look may cost that collects all violations and not the first alone. */
const MAX_DETAIL_COST = 500_000;
const MAX_VIOLATIONS = 20;

/** One way in which a value breaks a schema. `pointer` (RFC 6901) is into the value. */
export interface SchemaViolation {
  pointer: string;
  detail: string;
  /** True where the value was not shown to break the schema: validating it had to be given up. */
  isUndecided?: true;
}

/** A schema ready for use. */
export interface CompiledSchema {
  /**
   * The ways in which `value` breaks the schema, at most 20; none where it is valid. A value that costs too much to
   * validate, or is nested too deeply, counts as breaking it.
   */
  validate(value: unknown): SchemaViolation[];
}

/**
 * Compiles a JSON Schema 2020-12 that a user wrote.
 *
 * References reach only inside the schema; nothing is ever fetched. `pattern` and `patternProperties` are matched in
 * linear time, see {@link LinearRegExp} for their syntax. The formats date, time, date-time, duration, email, hostname,
 * ipv4, ipv6, uri, uri-reference, uuid, json-pointer and regex are asserted; others are annotations. Unknown keywords
 * are ignored. Every schema is compiled on its own, so no `$id` of one is seen by another. At most 65,536 characters,
 * 64 levels and 500 subschemas.
 *
 * @throws SchemaRefused where it cannot be used
 */
export function compileJsonSchema(schema: unknown): CompiledSchema {
  const normalized = normalizeSchema(schema);
  const meter = new EvaluationMeter();
  const first = compile(normalized, meter, false);
  let all: ValidateFunction | undefined;
  return {
    validate(value) {
      const quick = evaluate(first, meter, MAX_COST, value);
      if (quick.violations.length === 0 || !quick.isComplete) return quick.violations;
      all ??= compile(normalized, meter, true);
      const detailed = evaluate(all, meter, MAX_DETAIL_COST, value);
      return detailed.isComplete ? detailed.violations : quick.violations;
    },
  };
}

/** Compiled schemas by their text, the least recently used leaving first. */
export class JsonSchemaCache {
  private readonly compiled: LRUCache<string, CompiledSchema>;

  constructor(max = 200) {
    this.compiled = new LRUCache({ max });
  }

  /** @throws SchemaRefused as {@link compileJsonSchema} */
  compile(schema: unknown): CompiledSchema {
    const key = textOf(schema);
    const known = this.compiled.get(key);
    if (known) return known;
    const compiled = compileJsonSchema(schema);
    this.compiled.set(key, compiled);
    return compiled;
  }
}

const TOO_COSTLY = 'takes too long to validate against this schema';
const TOO_DEEP = 'is nested too deeply to be validated against this schema';

/** `isComplete` is false where the validation was broken off. */
interface Evaluation {
  violations: SchemaViolation[];
  isComplete: boolean;
}

function evaluate(
  validate: ValidateFunction,
  meter: EvaluationMeter,
  cost: number,
  value: unknown,
): Evaluation {
  meter.start(cost);
  try {
    const errors = validate(value) ? [] : (validate.errors ?? []);
    return { violations: errors.slice(0, MAX_VIOLATIONS).map(describe), isComplete: true };
  } catch (error) {
    if (error instanceof TooCostly) return { violations: [undecided(TOO_COSTLY)], isComplete: false };
    if (error instanceof RangeError) return { violations: [undecided(TOO_DEEP)], isComplete: false };
    throw error;
  } finally {
    validate.errors = null;
  }
}

function undecided(detail: string): SchemaViolation {
  return { pointer: '', detail, isUndecided: true };
}

function compile(
  schema: Record<string, unknown> | boolean,
  meter: EvaluationMeter,
  allErrors: boolean,
): ValidateFunction {
  const ajv = new Ajv2020({
    allErrors,
    meta: false,
    validateSchema: false,
    strict: false,
    logger: false,
    ownProperties: true,
    code: { optimize: false, regExp: Object.assign(meteredRegExp(meter), { code: 'new RegExp' }) },
    formats: formatsOf((units) => meter.spend(units)),
  });
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not hold the same item twice' },
    validate: (wanted: boolean, items: unknown[]) =>
      !wanted || !hasDuplicates(items, (units) => meter.spend(units)),
  });
  ajv.addKeyword({
    keyword: COST_KEYWORD,
    before: '$ref',
    compile: (cost: EvaluationCost) => (value: unknown) => {
      meter.spendOn(value, cost);
      return true;
    },
  });
  try {
    return ajv.compile(schema);
  } catch (error) {
    throw new SchemaRefused('', explain(error as Error));
  }
}

function meteredRegExp(meter: EvaluationMeter): (pattern: string) => { test(text: string): boolean } {
  return (pattern) => {
    const compiled = LinearRegExp.compile(pattern);
    return {
      test(text) {
        meter.spend(1 + text.length * compiled.programSize);
        return compiled.test(text);
      },
    };
  };
}

function explain(error: Error & { missingRef?: string }): string {
  if (error.missingRef === undefined) return `the schema cannot be compiled: ${error.message}`;
  return `$ref "${error.missingRef}" leads to nothing in this schema; references reach only inside the schema`;
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
