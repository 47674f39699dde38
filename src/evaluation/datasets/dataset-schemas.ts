import { RawJson, toJsonText } from '#platform/json';
import { compileJsonSchema } from '#platform/json-schema';
import { type FieldError, problem } from '#platform/problem';
import type { DatasetEntity } from './dataset.entity';

/** Takes a schema that a client gave: 400 when it is not a usable JSON Schema (2020-12). */
export function checkSchema(schema: object | null, pointer: string): RawJson | null {
  if (schema === null) return null;
  const compiled = compileJsonSchema(schema);
  if ('error' in compiled) throw problem.invalidFields([{ pointer, detail: compiled.error }]);
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
  const compiled = compileJsonSchema(schema.parse() as object);
  if ('error' in compiled) return [];
  return compiled
    .validate(value)
    .map((fault) => ({ pointer: `${pointer}${fault.pointer}`, detail: fault.detail }));
}
