import { validateBody } from '#platform/http';
import { type FieldError, Problem, problem } from '#platform/problem';
import type { DatasetSchemas, HeldSchemas, HeldValues } from '../../datasets/dataset-schemas';
import { checkItem } from '../../shared/bulk';
import { Pace } from '#platform/turns';
import { type OnConflict, RecordFieldsDto } from '../record.dto';
import { contentOf } from '../record.service';
import { IMPORT_LINES_MAX, type ImportLine, type ImportSource, pointerOf } from './import-source';

/** Faults that are told of in one answer; more are not looked for. */
export const FAULTS_MAX = 100;

/** What the records are held to. */
export interface ImportRules {
  schemas: DatasetSchemas;
  /** Null where there is none, which is told after all other faults. */
  dataset: HeldSchemas | null;
  onConflict: OnConflict;
}

/** What was found in lines that can be imported, or not. */
export interface CheckedImport {
  count: number;
  /**
   * Lines that contradict a schema and may be of a present record, which keeps what it held before the schema came:
   * whether they are refused is known once the dataset is locked.
   */
  doubtful: ReadonlySet<number>;
  /** The line of each external id, the first where there are several. */
  lineOf: Map<string, number>;
  /** 409 for ids that come twice, and 422 for unknown values: told of once the dataset was found to take records. */
  conflict: Problem | null;
  values: Problem | null;
}

/**
 * Reads everything that is to be imported once, and keeps none of it but its ids. Errors: 400 with up to 100 faults,
 * each with its line; 400 for more lines than there may be.
 */
export async function checkImport(source: ImportSource, rules: ImportRules): Promise<CheckedImport> {
  const check = new Check((line) => readLine(line, rules));
  const pace = new Pace();
  try {
    for await (const lines of source.lines()) {
      for (const line of lines) {
        check.take(line);
        if (pace.isDue()) await pace.rest();
      }
      if (check.isFull) break;
    }
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 400) throw error;
    check.note(error);
  }
  return check.result();
}

interface ReadLine {
  /** What is wrong with it. */
  fault: Problem | null;
  externalId: string | null;
  isDoubtful: boolean;
}

function readLine({ line, value, fault }: ImportLine, rules: ImportRules): ReadLine {
  const refused = (problem: Problem): ReadLine => ({ fault: problem, externalId: null, isDoubtful: false });
  if (fault) return refused(fault);
  const content = checkItem(() => contentOf(validateBody(RecordFieldsDto, value)));
  if (content instanceof Problem) return refused(content.within(pointerOf(line)));
  const externalId = content.external_id;
  const faults = schemaFaultsOf(line, content, rules);
  if (faults.length === 0) return { fault: null, externalId, isDoubtful: false };
  const mayBePresent = externalId !== null && rules.onConflict !== 'error';
  return mayBePresent
    ? { fault: null, externalId, isDoubtful: true }
    : refused(problem.invalidFields(faults));
}

/**
 * What of a line contradicts the schemas of the dataset, where it is not as it was `before`. No problem is made of it,
 * which costs more than finding it: there may be 100,000 lines that no answer tells of.
 */
export function schemaFaultsOf(
  line: number,
  content: HeldValues,
  { schemas, dataset }: Pick<ImportRules, 'schemas' | 'dataset'>,
  before?: HeldValues,
): FieldError[] {
  if (!dataset) return [];
  return schemas
    .faultsIn(dataset, content, before)
    .map((fault) => ('pointer' in fault ? { ...fault, pointer: pointerOf(line, fault.pointer) } : fault));
}

class Check {
  private readonly form: FieldError[] = [];
  private readonly values: FieldError[] = [];
  private readonly repeated: FieldError[] = [];
  private readonly lineOf = new Map<string, number>();
  private readonly doubtful = new Set<number>();
  private count = 0;

  constructor(private readonly read: (line: ImportLine) => ReadLine) {}

  get isFull(): boolean {
    return this.form.length >= FAULTS_MAX;
  }

  take(line: ImportLine): void {
    this.count++;
    if (this.count > IMPORT_LINES_MAX) {
      const detail = `is record ${this.count}; one import may bring ${IMPORT_LINES_MAX}`;
      throw problem.invalidFields([{ pointer: pointerOf(line.line), detail }]);
    }
    if (this.isFull) return;
    const { fault, externalId, isDoubtful } = this.read(line);
    if (fault) this.note(fault);
    if (isDoubtful) this.doubtful.add(line.line);
    if (externalId !== null) this.noteId(externalId, line.line);
  }

  note({ status, errors = [], detail }: Problem): void {
    const faults = errors.length > 0 ? errors : [{ pointer: '', detail }];
    (status === 422 ? this.values : this.form).push(...faults);
  }

  result(): CheckedImport {
    if (this.form.length > 0) throw problem.invalidFields(this.form);
    return {
      count: this.count,
      doubtful: this.doubtful,
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
        detail: `is that of line ${first} already`,
      });
    }
  }
}

/** 409 that names the lines. */
export function conflictOf(errors: FieldError[]): Problem {
  const [first] = errors as { pointer: string; detail: string }[];
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more, see errors)` : '';
  return problem.conflict(`${first!.pointer} ${first!.detail}${more}`, {
    errors: errors.slice(0, FAULTS_MAX),
  });
}
