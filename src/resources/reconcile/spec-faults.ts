import { validateBody } from '#platform/http';
import { type FieldError, Problem } from '#platform/problem';

/**
 * Returns the validation errors of a spec.
 *
 * @param pointer the JSON pointer of the spec
 * @param check returns further errors of a spec of this type, or throws them as a problem
 */
export function faultsInSpec<Spec extends object>(
  type: new () => Spec,
  spec: object,
  pointer: string,
  check: (spec: Spec) => FieldError[],
): FieldError[] {
  try {
    return check(validateBody(type, spec));
  } catch (error) {
    if (error instanceof Problem && error.errors) return [...error.withPointerPrefix(pointer).errors!];
    throw error;
  }
}
