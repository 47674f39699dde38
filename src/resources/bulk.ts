import { Problem, problem, type ProblemBody } from '#platform/problem';

/** Maximum number of items of a bulk create. */
export const BULK_MAX = 100;

/** The outcome of an item in a 207 response. */
export interface BulkItem {
  index: number;
  status_code: number;
  error?: ProblemBody;
}

export const failedItem = (index: number, error: Problem): BulkItem => ({
  index,
  status_code: error.status,
  error: error.toBody(null),
});

/** Runs the check of an item. Returns its result, or the problem that it throws. */
export function checkItem<Result>(check: () => Result): Result | Problem {
  try {
    return check();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Returns the problem of an item with pointers into the bulk body. */
export const toItemProblem = (error: Problem, index: number): Problem =>
  error.withPointerPrefix(`/items/${index}`);

/** Returns 409 for an item that repeats a key of an earlier item in the same body. */
export const repeatedItem = (index: number, member: string, first: number): Problem =>
  problem.conflict(`items/${index} has the same ${member} as items/${first}. Only the first one is stored.`);
