import { Problem, problem, problemOfDatabaseError } from '#platform/problem';

const RETRY = { 'Retry-After': '1' };

/**
 * An error of the database as one of the store: unreachable or too slow is 503, whatever else stays as it is.
 *
 * @param detail of the 503
 */
export function storeProblem(error: unknown, detail: string): unknown {
  const found = error instanceof Problem ? error : problemOfDatabaseError(error);
  const isOutage = found?.code === 'service_unavailable' || found?.code === 'request_timeout';
  return isOutage ? problem.unavailable(detail, { headers: RETRY, cause: error }) : error;
}
