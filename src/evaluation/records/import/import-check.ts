import { setImmediate as turn } from 'node:timers/promises';
import { validateBody } from '#platform/http';
import { type FieldError, Problem, problem } from '#platform/problem';
import type { DatasetSchemas } from '../../datasets/dataset-schemas';
import type { DatasetEntity } from '../../datasets/dataset.entity';
import { RecordFieldsDto } from '../record.dto';
import { contentOf } from '../record.service';
import { IMPORT_LINES_MAX, type ImportLine, type ImportSource, pointerOf } from './import-source';

/** Faults that are told of in one answer; more are not looked for. */
const FAULTS_MAX = 100;
/** How long the process does nothing else. */
const TURN_MS = 5;

export type RecordSchemas = Pick<DatasetEntity, 'input_schema' | 'expected_schema'>;

/** What was found in lines that can be imported, or not. */
export interface CheckedImport {
  count: number;
  /** The line of each external id, the first where there are several. */
  lineOf: Map<string, number>;
  /** 409 for ids that come twice, and 422 for unknown values: told of once the dataset was found to take records. */
  conflict: Problem | null;
  values: Problem | null;
}

/**
 * Reads everything that is to be imported once, and keeps none of it but its ids. Errors: 400 with up to 100 faults,
 * each with its line; 400 for more lines than there may be.
 *
 * @param dataset whose schemas the records are held to; null where there is none, which is told after all other faults
 */
export async function checkImport(
  source: ImportSource,
  schemas: DatasetSchemas,
  dataset: RecordSchemas | null,
): Promise<CheckedImport> {
  const check = new Check((line) => faultsOf(line, schemas, dataset));
  let since = performance.now();
  try {
    for await (const lines of source.lines()) {
      for (const line of lines) {
        check.take(line);
        if (performance.now() - since < TURN_MS) continue;
        await turn();
        since = performance.now();
      }
      if (check.isFull) break;
    }
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 400) throw error;
    check.note(error);
  }
  return check.result();
}

/** What is wrong with one line; otherwise its external id, which may be null. */
function faultsOf(
  { line, value, fault }: ImportLine,
  schemas: DatasetSchemas,
  dataset: RecordSchemas | null,
): Problem | string | null {
  if (fault) return fault;
  try {
    const content = contentOf(validateBody(RecordFieldsDto, value));
    if (dataset) schemas.checkRecord(dataset, content);
    return content.external_id;
  } catch (error) {
    if (error instanceof Problem) return error.within(pointerOf(line));
    throw error;
  }
}

class Check {
  private readonly form: FieldError[] = [];
  private readonly values: FieldError[] = [];
  private readonly repeated: FieldError[] = [];
  private readonly lineOf = new Map<string, number>();
  private count = 0;

  constructor(private readonly faultOf: (line: ImportLine) => Problem | string | null) {}

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
    const found = this.faultOf(line);
    if (found instanceof Problem) this.note(found);
    else if (found !== null) this.noteId(found, line.line);
  }

  note({ status, errors = [], detail }: Problem): void {
    const faults = errors.length > 0 ? errors : [{ pointer: '', detail }];
    (status === 422 ? this.values : this.form).push(...faults);
  }

  result(): CheckedImport {
    if (this.form.length > 0) throw problem.invalidFields(this.form);
    return {
      count: this.count,
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
