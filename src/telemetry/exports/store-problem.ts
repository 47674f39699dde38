import { Problem, problem, problemOfDatabaseError } from '#platform/problem';

const RETRY = { 'Retry-After': '1' };

/**
 * Converts an error of the database: unreachable or too slow is 503, anything else 500. Records were validated before, so
 * the error is never the sender's, who would not retry a 4xx.
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
