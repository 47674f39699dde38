// The tasks of the schema threads: compiling JSON Schemas that users wrote, and validating values against them.
import { RawJson } from '#platform/json';
import {
  type CompiledSchema,
  JsonSchemaCache,
  SchemaError,
  type SchemaViolation,
} from '#platform/json-schema';

/** A value of more characters gets only its first violation. */
const LARGE_VALUE = 256 * 1024;

/** Values to validate. Schemas and values are JSON texts. */
export interface ValuesToValidate {
  schemas: readonly string[];
  /** `schema` is an index into `schemas`. */
  values: readonly { schema: number; value: string }[];
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
  return values.map(({ schema, value }) =>
    compiled[schema]!.validate(new RawJson(value).parse(), value.length > LARGE_VALUE),
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
