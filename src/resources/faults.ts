import { type FieldError, problem } from '#platform/problem';

/** Throws 400 if there are faults. */
export function checkFaults(faults: FieldError[]): void {
  if (faults.length > 0) throw problem.invalidFields(faults);
}
