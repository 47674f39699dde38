import { Problem, problem, problemOfDatabaseError } from '#platform/problem';
import type { SyncError } from './app.entity';
import { SweepRefused } from './reconcile-step';

const WITHIN =
  'The sweep failed for a reason that lies within the service. It is logged; the next sweep tries again.';

/** What an app tells of a sweep that failed, without what the error says of the service's insides. */
export function toldOf(error: unknown): Omit<SyncError, 'at'> {
  const known = problemOf(error);
  return known
    ? { code: known.code, detail: known.detail, errors: known.errors ?? [] }
    : { code: 'internal_error', detail: WITHIN, errors: [] };
}

/** What a sweep that failed is answered: declarations that cannot be applied are 422, everything else is as it is. */
export const answerOf = (error: unknown): unknown => problemOf(error) ?? error;

function problemOf(error: unknown): Problem | null {
  if (error instanceof SweepRefused) return problem.validationFailed([...error.faults]);
  const known = error instanceof Problem ? error : problemOfDatabaseError(error);
  return known && isUniqueViolation(known.cause) ? problem.validationFailed([TAKEN]) : known;
}

/** The steps tell of each name that is taken as they begin; which one was taken since is told by the next sweep. */
const TAKEN = {
  pointer: '/resources',
  detail: 'has a name that somebody else took while the app was swept',
};

const isUniqueViolation = (cause: unknown): boolean =>
  (cause as { code?: unknown } | undefined)?.code === '23505';
