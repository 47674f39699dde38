import { Injectable } from '@nestjs/common';
import { canonicalJson, RawJson, toRawJson } from '#platform/json';
import { JsonSchemaCache, SchemaRefused } from '#platform/json-schema';
import { type FieldError, problem } from '#platform/problem';
import type { DatasetEntity } from './dataset.entity';

/** The schemas of a dataset, and what of a record is held to them. */
export type HeldSchemas = Pick<DatasetEntity, 'input_schema' | 'expected_schema'>;
export interface HeldValues {
  input: unknown;
  expected: unknown;
}

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

  /** 400 with what of a record contradicts its dataset's schemas, as `faultsIn` tells it. */
  checkRecord(dataset: HeldSchemas, record: HeldValues, before?: HeldValues): void {
    const faults = this.faultsIn(dataset, record, before);
    if (faults.length > 0) throw problem.invalidFields(faults);
  }

  /**
   * What of a record contradicts its dataset's schemas, each fault with its pointer into the record.
   *
   * @param before what the record held, if it is not new: what is equal to that, as JSON, is not held to a schema that came later
   */
  faultsIn(dataset: HeldSchemas, record: HeldValues, before?: HeldValues): FieldError[] {
    const changed = (member: keyof HeldValues): boolean =>
      before === undefined || canonicalJson(before[member]) !== canonicalJson(record[member]);
    return [
      ...(changed('input') ? this.faultsOf(dataset.input_schema, record.input, '/input') : []),
      ...(changed('expected') ? this.faultsOf(dataset.expected_schema, record.expected, '/expected') : []),
    ];
  }

  private faultsOf(schema: RawJson | null, value: unknown, pointer: string): FieldError[] {
    if (schema === null) return [];
    return this.compiled
      .compile(schema.parse())
      .validate(value instanceof RawJson ? value.parse() : value)
      .map((fault) => ({ pointer: `${pointer}${fault.pointer}`, detail: fault.detail }));
  }
}
