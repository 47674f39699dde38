import { Injectable } from '@nestjs/common';
import { RawJson, toRawJson } from '#platform/json';
import { JsonSchemaCache, SchemaRefused } from '#platform/json-schema';
import { type FieldError, problem } from '#platform/problem';
import type { DatasetEntity } from './dataset.entity';

/** The JSON Schemas that a dataset holds its records to. One is compiled once, however many records follow. */
@Injectable()
export class DatasetSchemas {
  private readonly compiled = new JsonSchemaCache();

  /** Takes a schema that a client gave: 400 when it is not a usable JSON Schema (2020-12). */
  check(schema: object | null, pointer: string): RawJson | null {
    if (schema === null) return null;
    try {
      this.compiled.compile(schema);
    } catch (error) {
      if (!(error instanceof SchemaRefused)) throw error;
      throw problem.invalidFields([{ pointer: `${pointer}${error.pointer}`, detail: error.message }]);
    }
    return toRawJson(schema);
  }

  /** 400 with what of a record contradicts its dataset's schemas, each fault with its pointer into the record. */
  checkRecord(
    { input_schema, expected_schema }: Pick<DatasetEntity, 'input_schema' | 'expected_schema'>,
    { input, expected }: { input: unknown; expected: unknown },
  ): void {
    const faults = [
      ...this.faultsOf(input_schema, input, '/input'),
      ...this.faultsOf(expected_schema, expected, '/expected'),
    ];
    if (faults.length > 0) throw problem.invalidFields(faults);
  }

  private faultsOf(schema: RawJson | null, value: unknown, pointer: string): FieldError[] {
    if (schema === null) return [];
    return this.compiled
      .compile(schema.parse())
      .validate(value instanceof RawJson ? value.parse() : value)
      .map((fault) => ({ pointer: `${pointer}${fault.pointer}`, detail: fault.detail }));
  }
}
