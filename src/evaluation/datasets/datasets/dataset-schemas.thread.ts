// The tasks of the schema threads: compiling JSON Schemas that users wrote, and validating values against them.
import { canonicalJson, INLINE_JSON_MAX, RawJson } from '#platform/json';
import {
  type CompiledSchema,
  JsonSchemaCache,
  SchemaError,
  type SchemaViolation,
} from '#platform/json-schema';

/** Values to validate. Schemas and values are JSON texts. */
export interface ValuesToValidate {
  schemas: readonly string[];
  /** `schema` is an index into `schemas`. A value that equals the one before it is valid. */
  values: readonly { schema: number; value: string; before?: string }[];
}

const cache = new JsonSchemaCache();

/** Returns the fault of a schema, or null if the schema is usable. */
export function faultOfSchema(schema: string): SchemaViolation | null {
  try {
    cache.compile(new RawJson(schema));
    return null;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    return { pointer: error.pointer, detail: error.message };
  }
}

/** Returns the violations of each value. */
export function violationsOf({ schemas, values }: ValuesToValidate): SchemaViolation[][] {
  const compiled = schemas.map(compile);
  return values.map(({ schema, value, before }) =>
    before !== undefined && areEqual({ one: before, other: value })
      ? []
      : compiled[schema]!.validate(new RawJson(value).parse(), value.length > INLINE_JSON_MAX),
  );
}

/** Compiles a stored schema. If it exceeds a limit that is newer than the schema, no value is valid. */
function compile(schema: string): CompiledSchema {
  try {
    return cache.compile(new RawJson(schema));
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    const detail = `cannot be validated because of its schema: ${error.message}`;
    return { validate: () => [{ pointer: '', detail, isUndecided: true }] };
  }
}

/** Whether two JSON texts have the same value. The order of members does not matter. */
export const areEqual = ({ one, other }: { one: string; other: string }): boolean =>
  canonicalJson(new RawJson(one)) === canonicalJson(new RawJson(other));
