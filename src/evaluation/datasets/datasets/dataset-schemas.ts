import { createHash } from 'node:crypto';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { ComputationPool, isExhausted, type TaskFile } from '#platform/concurrency';
import { type RawJson, sameJson, toRawJson } from '#platform/json';
import type { SchemaViolation } from '#platform/json-schema';
import { type FieldError, problem } from '#platform/problem';
import type { DatasetEntity } from './dataset.entity';
import type * as tasks from './dataset-schemas.thread';

/** The deadline is the longest time for one schema, or for the values of one request. */
const TASKS: TaskFile<typeof tasks> = {
  path: path.join(__dirname, 'dataset-schemas.thread.js'),
  deadlineMs: 5_000,
};
/** Longest time for finding the values that exceed the deadline, in milliseconds. */
const SEARCH_MS = 10_000;
/** Attempts at a write while its dataset keeps changing. */
const ATTEMPTS = 8;

/** The schemas of a dataset. */
export type RecordSchemas = Pick<DatasetEntity, 'input_schema' | 'expected_schema'>;

/** The schemas of most datasets. */
export const NO_SCHEMAS: RecordSchemas = { input_schema: null, expected_schema: null };

/** The members of a record that schemas apply to. Undefined members are not checked. */
export interface SchemaMembers {
  input?: unknown;
  expected?: unknown;
}
export type SchemaMember = keyof SchemaMembers;

/** A value and its schema, as JSON texts, and the digest of both. */
interface SchemaValue {
  key: string;
  schema: string;
  value: string;
}

const MEMBERS = ['input', 'expected'] as const;
const TOO_SLOW = 'takes too long to validate against this schema';

/**
 * Checks the schemas of datasets, and records against these schemas, in worker threads. A hostile schema can only end its own
 * thread.
 */
@Injectable()
export class DatasetSchemas {
  constructor(private readonly pool: ComputationPool) {}

  /** Throws 400 unless a schema is a usable JSON Schema (2020-12). */
  async check(scope: Scope, schema: RawJson, pointer: string, signal: AbortSignal): Promise<void> {
    let fault: SchemaViolation | null;
    try {
      fault = await this.pool.run(scope, signal, TASKS, 'faultOfSchema', schema.text);
    } catch (error) {
      if (!isExhausted(error)) throw error;
      fault = { pointer: '', detail: 'takes too long to compile' };
    }
    if (fault) {
      throw problem.invalidField(`${pointer}${fault.pointer}`, fault.detail);
    }
  }

  /**
   * Runs a write that checks records, possibly while it holds locks. The first run collects the values that need a
   * verdict, and is rolled back. The threads validate them while no lock is held. The next run uses these verdicts.
   *
   * @param write returns null to run again, because the dataset changed after it was read
   */
  async withCheck<Result>(
    scope: Scope,
    signal: AbortSignal,
    write: (check: RecordCheck) => Promise<Result | null>,
  ): Promise<Result> {
    const check = new RecordCheck();
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        const result = await write(check);
        if (result !== null) return result;
      } catch (error) {
        if (!(error instanceof VerdictsMissing)) throw error;
      }
      const values = check.takeMissing();
      check.add(values, await this.violationsOf(scope, values, signal));
    }
    throw problem.conflict('The dataset changed during the request. Try again.');
  }

  /** Returns the faults of each record, with pointers into the record. */
  async faultsOf(
    scope: Scope,
    schemas: RecordSchemas,
    records: readonly SchemaMembers[],
    signal: AbortSignal,
  ): Promise<FieldError[][]> {
    const check = new RecordCheck();
    for (const record of records) check.faultsIn(schemas, record);
    const values = check.takeMissing();
    check.add(values, await this.violationsOf(scope, values, signal));
    return records.map((record) => check.faultsIn(schemas, record));
  }

  /** Validates values in one message. If that takes too long, validates them one by one to find the slow ones. */
  private async violationsOf(
    scope: Scope,
    values: readonly SchemaValue[],
    signal: AbortSignal,
  ): Promise<SchemaViolation[][]> {
    if (values.length === 0) return [];
    const all = await this.attempt(scope, values, signal);
    if (all) return all;
    if (values.length === 1) return [[{ pointer: '', detail: TOO_SLOW }]];
    const until = performance.now() + SEARCH_MS;
    const violations: SchemaViolation[][] = [];
    for (const value of values) {
      const one = performance.now() < until ? await this.attempt(scope, [value], signal) : null;
      violations.push(one?.[0] ?? [{ pointer: '', detail: TOO_SLOW }]);
    }
    return violations;
  }

  /** Validates values. Returns null if that takes too long or too much memory. */
  private async attempt(
    scope: Scope,
    values: readonly SchemaValue[],
    signal: AbortSignal,
  ): Promise<SchemaViolation[][] | null> {
    const schemas = [...new Set(values.map(({ schema }) => schema))];
    const input = {
      schemas,
      values: values.map(({ schema, value }) => ({ schema: schemas.indexOf(schema), value })),
    };
    try {
      return await this.pool.run(scope, signal, TASKS, 'violationsOf', input);
    } catch (error) {
      if (isExhausted(error)) return null;
      throw error;
    }
  }
}

/** Checks records with the verdicts of the threads. */
export class RecordCheck {
  /** Verdicts by digest, so that texts of up to 4 MiB are released as soon as they have a verdict. */
  private readonly verdicts = new Map<string, SchemaViolation[]>();
  private readonly missing = new Map<string, SchemaValue>();

  /**
   * Returns the faults of a record, with pointers into the record. A value without a verdict counts as valid until
   * `finish` is called.
   *
   * @param before the record before the change. Values that are equal as JSON need not meet a newer schema
   */
  faultsIn(schemas: RecordSchemas, record: SchemaMembers, before?: SchemaMembers): FieldError[] {
    return MEMBERS.flatMap((member) => {
      const schema = schemas[`${member}_schema`];
      if (schema === null || !isChanged(member, record, before)) return [];
      const value = toRawJson(record[member]).text;
      const key = digestOf([schema.text, value]);
      const violations = this.verdicts.get(key);
      if (!violations) this.missing.set(key, { key, schema: schema.text, value });
      return (violations ?? []).map(({ pointer, detail }) => ({ pointer: `/${member}${pointer}`, detail }));
    });
  }

  /** Ends the checks of a write. Call it before the first change. */
  finish(): void {
    if (this.missing.size > 0) throw new VerdictsMissing();
  }

  /** Returns the values that need a verdict. */
  takeMissing(): SchemaValue[] {
    const values = [...this.missing.values()];
    this.missing.clear();
    return values;
  }

  add(values: readonly SchemaValue[], violations: readonly SchemaViolation[][]): void {
    for (const [index, { key }] of values.entries()) this.verdicts.set(key, violations[index]!);
  }
}

/** Whether a member of a record must be checked: it is present, and differs from the record before the change. */
export const isChanged = (member: SchemaMember, record: SchemaMembers, before?: SchemaMembers): boolean =>
  record[member] !== undefined &&
  (before === undefined || !sameJson(toRawJson(before[member]), toRawJson(record[member])));

/** Aborts a run of a write whose values have no verdicts yet. */
class VerdictsMissing extends Error {}

const digestOf = (texts: readonly string[]): string => {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text).update('\n');
  return hash.digest('base64');
};
