import { RawJson, toJsonText } from '#platform/json';
import { compileJsonSchema, SchemaRefused } from '#platform/json-schema';
import { type FieldError, problem } from '#platform/problem';
import type { DatasetEntity } from './dataset.entity';

/** Takes a schema that a client gave: 400 when it is not a usable JSON Schema (2020-12). */
export function checkSchema(schema: object | null, pointer: string): RawJson | null {
  if (schema === null) return null;
  try {
    compileJsonSchema(schema);
  } catch (error) {
    if (!(error instanceof SchemaRefused)) throw error;
    throw problem.invalidFields([{ pointer: `${pointer}${error.pointer}`, detail: error.message }]);
  }
  return new RawJson(toJsonText(schema));
}

/** What of a record contradicts its dataset's schemas: the faults, each with its pointer into the record. */
export function schemaFaults(
  dataset: Pick<DatasetEntity, 'input_schema' | 'expected_schema'>,
  record: { input: unknown; expected: unknown },
): FieldError[] {
  return [
    ...faultsOf(dataset.input_schema, record.input, '/input'),
    ...faultsOf(dataset.expected_schema, record.expected, '/expected'),
  ];
}

function faultsOf(schema: RawJson | null, value: unknown, pointer: string): FieldError[] {
  if (schema === null) return [];
  return compileJsonSchema(schema.parse())
    .validate(value)
    .map((fault) => ({ pointer: `${pointer}${fault.pointer}`, detail: fault.detail }));
}
