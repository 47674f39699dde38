import { Problem, problem, type ProblemBody } from '#platform/problem';

/** Items in one bulk create. */
export const BULK_MAX = 100;

/** One item's outcome in a 207 answer. */
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

/** Runs the check of one item; a problem it throws is the item's own. */
export function checkItem<Result>(check: () => Result): Result | Problem {
  try {
    return check();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** The problem of an item, as seen from the bulk body. */
export const withinItems = (error: Problem, index: number): Problem => error.within(`/items/${index}`);

/** An item that repeats a key of an earlier item of the same call: the first wins. */
export const repeatedItem = (index: number, member: string, first: number): Problem =>
  problem.conflict(`items/${index} has the same ${member} as items/${first}. Only the first one is stored.`);
