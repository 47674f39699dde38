import { validateBody } from '#platform/http';
import { type FieldError, Problem, problem } from '#platform/problem';
import { TimeSlice } from '#platform/concurrency';
import type { SchemaMember } from '../../datasets/dataset-schemas';
import { checkItem } from '../../../../resources';
import { type OnConflict, RecordFieldsDto } from '../record.dto';
import { contentOf, type RecordContent } from '../record-content';
import { IMPORT_LINES_MAX, type ImportLine, type ImportSource, pointerOf } from './import-source';

/** Maximum number of faults in a response. The check stops when it has found as many. */
export const FAULTS_MAX = 100;

/** The rules for the records of an import. */
export interface ImportRules {
  /** Returns the schema violations of each record. */
  faultsOf: (records: readonly RecordContent[]) => Promise<FieldError[][]>;
  onConflict: OnConflict;
}

/** The result of checking an import. */
export interface CheckedImport {
  count: number;
  /**
   * The members that violate a schema, by line, for lines that may update an existing record. The record may keep a value
   * that violates a newer schema. These lines are decided once the dataset is locked.
   */
  undecided: ReadonlyMap<number, readonly SchemaMember[]>;
  /** The first line of each external id. */
  lineOf: Map<string, number>;
  /** 409 for repeated ids, and 422 for unknown values. To be thrown after the checks of the dataset. */
  conflict: Problem | null;
  values: Problem | null;
}

/**
 * Reads the whole import once, and keeps only its external ids. Errors: 400 with up to 100 faults, each with its line;
 * 400 for too many records.
 */
export async function checkImport(source: ImportSource, rules: ImportRules): Promise<CheckedImport> {
  const check = new Check(rules.onConflict);
  const slice = new TimeSlice();
  try {
    for await (const lines of source.lines()) {
      const reads: ReadLine[] = [];
      for (const line of lines) {
        reads.push(readLine(line));
        if (slice.isOver()) await slice.yield();
      }
      const faults = await rules.faultsOf(reads.flatMap(({ content }) => content ?? []));
      for (const read of reads) check.take(read, read.content ? faults.shift()! : []);
      if (check.isFull) break;
    }
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 400) throw error;
    check.note(error);
  }
  return check.result();
}

/** A line with its content, or with its fault. */
type ReadLine = { line: number } & (
  | { content: RecordContent; fault: null }
  | { content: null; fault: Problem }
);

function readLine({ line, value, fault }: ImportLine): ReadLine {
  if (fault) return { line, content: null, fault };
  const content = checkItem(() => contentOf(validateBody(RecordFieldsDto, value, '', 'ignore')));
  return content instanceof Problem
    ? { line, content: null, fault: content.withPointerPrefix(pointerOf(line)) }
    : { line, content, fault: null };
}

class Check {
  private readonly form: FieldError[] = [];
  private readonly values: FieldError[] = [];
  private readonly repeated: FieldError[] = [];
  private readonly lineOf = new Map<string, number>();
  private readonly undecided = new Map<number, SchemaMember[]>();
  private count = 0;

  constructor(private readonly onConflict: OnConflict) {}

  get isFull(): boolean {
    return this.form.length >= FAULTS_MAX;
  }

  /** @param faults the schema violations of the line's content */
  take({ line, content, fault }: ReadLine, faults: readonly FieldError[]): void {
    this.count++;
    if (this.count > IMPORT_LINES_MAX) {
      const detail = `is record ${this.count}. An import can have at most ${IMPORT_LINES_MAX} records`;
      throw problem.invalidField(pointerOf(line), detail);
    }
    if (this.isFull) return;
    if (fault) return this.note(fault);
    const id = content.external_id;
    if (id !== null) this.noteId(id, line);
    if (faults.length === 0) return;
    const isDecidedLater = id !== null && this.onConflict !== 'error';
    if (isDecidedLater) this.undecided.set(line, membersOf(faults));
    else this.form.push(...faultsOfLine(line, faults));
  }

  note({ status, errors = [], detail }: Problem): void {
    const faults = errors.length > 0 ? errors : [{ pointer: '', detail }];
    (status === 422 ? this.values : this.form).push(...faults);
  }

  result(): CheckedImport {
    if (this.form.length > 0) throw problem.invalidFields(this.form);
    return {
      count: this.count,
      undecided: this.undecided,
      lineOf: this.lineOf,
      conflict: this.repeated.length > 0 ? conflictOf(this.repeated) : null,
      values: this.values.length > 0 ? problem.validationFailed(this.values) : null,
    };
  }

  private noteId(id: string, line: number): void {
    const first = this.lineOf.get(id);
    if (first === undefined) {
      this.lineOf.set(id, line);
    } else if (this.repeated.length < FAULTS_MAX) {
      this.repeated.push({
        pointer: pointerOf(line, '/external_id'),
        detail: `must be unique, but line ${first} has the same value`,
      });
    }
  }
}

/** Returns the faults of a record, with pointers to its line. */
export const faultsOfLine = (line: number, faults: readonly FieldError[]): FieldError[] =>
  faults.map((fault) => ('pointer' in fault ? { ...fault, pointer: pointerOf(line, fault.pointer) } : fault));

const membersOf = (faults: readonly FieldError[]): SchemaMember[] =>
  (['input', 'expected'] as const).filter((member) =>
    faults.some((fault) => 'pointer' in fault && fault.pointer.split('/')[1] === member),
  );

/** Returns the 409 that names the lines. */
export function conflictOf(errors: FieldError[]): Problem {
  const [first] = errors as { pointer: string; detail: string }[];
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more, see errors)` : '';
  return problem.conflict(`${first!.pointer} ${first!.detail}${more}`, {
    errors: errors.slice(0, FAULTS_MAX),
  });
}
