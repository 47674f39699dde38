// The tasks of the schema threads: compiling JSON Schemas that users wrote, and validating values against them.
import { RawJson } from '#platform/json';
import { JsonSchemaCache, SchemaRefused, type SchemaViolation } from '#platform/json-schema';

/** Values to validate. Schemas and values are JSON texts. */
export interface ValuesToValidate {
  schemas: readonly string[];
  /** `schema` is an index into `schemas`. */
  values: readonly { schema: number; value: string }[];
}

const cache = new JsonSchemaCache();

/** Returns what is wrong with a schema, or null if it can be used. */
export function faultOfSchema(schema: string): SchemaViolation | null {
  try {
    cache.compile(new RawJson(schema));
    return null;
  } catch (error) {
    if (!(error instanceof SchemaRefused)) throw error;
    return { pointer: error.pointer, detail: error.message };
  }
}

/** Returns the violations of each value. */
export function violationsOf({ schemas, values }: ValuesToValidate): SchemaViolation[][] {
  const compiled = schemas.map((schema) => cache.compile(new RawJson(schema)));
  return values.map(({ schema, value }) => compiled[schema]!.validate(new RawJson(value).parse()));
}
