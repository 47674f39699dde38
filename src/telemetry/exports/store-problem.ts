import { Problem, problem, problemOfDatabaseError } from '#platform/problem';

const RETRY = { 'Retry-After': '1' };

/**
 * An error of the database as one of the store: unreachable or too slow is 503, whatever else 500. What is stored was
 * checked before, so that none of it is the sender's fault, who would give up what is answered so.
 *
 * @param detail of the 503
 */
export function storeProblem(error: unknown, detail: string): unknown {
  const found = error instanceof Problem ? error : problemOfDatabaseError(error);
  if (!found) return error;
  const isOutage = found.code === 'service_unavailable' || found.code === 'request_timeout';
  if (isOutage) return problem.unavailable(detail, { headers: RETRY, cause: error });
  return error instanceof Problem
    ? error
    : new Problem('internal_error', 'It could not be stored.', { cause: error });
}
