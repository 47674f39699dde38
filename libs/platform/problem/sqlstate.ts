import type { ProblemCode } from './catalogue';
import { Problem } from './problem';

interface Rule {
  code: ProblemCode;
  detail: string;
  headers?: Record<string, string>;
}

const RETRY: Record<string, string> = { 'Retry-After': '1' };

const UNREACHABLE: Rule = {
  code: 'service_unavailable',
  detail: 'The database is unavailable. Try again.',
  headers: RETRY,
};

const BUSY: Rule = {
  code: 'service_unavailable',
  detail: 'No database connection became free in time. Try again.',
  headers: RETRY,
};

/**
 * Problems for errors of PostgreSQL, by SQLSTATE (PostgreSQL manual, appendix A), or by its first characters if a whole
 * class has the same problem. Any other error is an `internal_error`.
 */
const BY_SQLSTATE: Record<string, Rule> = {
  '23505': {
    code: 'conflict',
    detail: 'A resource with the same name or key already exists. Use another name or key.',
  },
  '23503': { code: 'conflict', detail: 'The request refers to a resource that no longer exists.' },
  '23514': { code: 'validation_failed', detail: 'A value is not allowed.' },
  '23502': { code: 'invalid_request', detail: 'A required member is missing.' },
  '22001': { code: 'invalid_request', detail: 'A value is too long.' },
  '22003': { code: 'invalid_request', detail: 'A number is out of range.' },
  '22007': {
    code: 'invalid_request',
    detail: 'A time is invalid. Send RFC 3339, such as 2025-01-31T12:00:00Z.',
  },
  '22008': { code: 'invalid_request', detail: 'A time is out of range.' },
  '22021': {
    code: 'invalid_request',
    detail: 'A string contains a NUL character, which cannot be stored. Remove it.',
  },
  '22P02': { code: 'invalid_request', detail: 'A value has the wrong format.' },
  '22P05': {
    code: 'invalid_request',
    detail: 'A string contains a NUL character, which cannot be stored. Remove it.',
  },
  '40001': {
    code: 'service_unavailable',
    detail: 'The request conflicted with a concurrent one. Try again.',
    headers: RETRY,
  },
  '40P01': {
    code: 'service_unavailable',
    detail: 'The request conflicted with a concurrent one. Try again.',
    headers: RETRY,
  },
  '54000': { code: 'invalid_request', detail: 'A value is too large to store.' },
  '55P03': {
    code: 'service_unavailable',
    detail: 'The resource is locked by another request. Try again.',
    headers: RETRY,
  },
  '57014': { code: 'request_timeout', detail: 'The database did not respond in time.' },
  '08': UNREACHABLE,
  '53': {
    code: 'service_unavailable',
    detail: 'The database is overloaded. Try again.',
    headers: RETRY,
  },
  '57P': UNREACHABLE,
};

/** Problems for violated constraints, which are more precise than the problems by SQLSTATE. Each area adds its own. */
const byConstraint = new Map<string, Rule>();

/** Declares the problem for a violated constraint. Called once per constraint, when a module loads. */
export function explainConstraint(constraint: string, code: ProblemCode, detail: string): void {
  byConstraint.set(constraint, { code, detail });
}

/** Returns the unique constraint that an error of the database driver reports, or undefined. */
export function duplicateOf(error: unknown): string | undefined {
  const { driverError, code, constraint } = (error ?? {}) as DatabaseError;
  if (typeof driverError === 'object' && driverError !== null) return duplicateOf(driverError);
  return code === '23505' && typeof constraint === 'string' ? constraint : undefined;
}

/** Tells whether the data of a statement caused its error: SQLSTATE classes 22 (data exception) and 23 (constraint). */
export function isDataError(error: unknown): boolean {
  const { driverError, code } = (error ?? {}) as DatabaseError;
  if (typeof driverError === 'object' && driverError !== null) return isDataError(driverError);
  return typeof code === 'string' && /^2[23]/.test(code);
}

/** Tells whether a statement failed because another transaction held a lock for too long. */
export const isLockTimeout = (error: unknown): boolean => hasCode(error, '55P03');

/** Tells whether a transaction was rolled back because it and another one waited for each other. */
export const isDeadlock = (error: unknown): boolean => hasCode(error, '40P01');

function hasCode(error: unknown, sqlstate: string): boolean {
  if (error instanceof Problem) return hasCode(error.cause, sqlstate);
  const { driverError, code } = (error ?? {}) as DatabaseError;
  if (typeof driverError === 'object' && driverError !== null) return hasCode(driverError, sqlstate);
  return code === sqlstate;
}

/** Errors of the socket to PostgreSQL, which have no SQLSTATE. */
const SOCKET_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN']);
const LOST_CONNECTION = /Connection terminated|connection is closed|not queryable/i;
/** Messages of pg-pool and of `WaitTimeout` when no connection became free in time. */
const POOL_EXHAUSTED = /timeout exceeded when trying to connect|did not get its turn within/i;

interface DatabaseError {
  code?: unknown;
  constraint?: unknown;
  severity?: unknown;
  driverError?: unknown;
  message?: unknown;
  errors?: unknown;
}

/** Returns the problem for an error of the database driver (or of TypeORM around it), or null for any other error. */
export function problemOfDatabaseError(error: unknown): Problem | null {
  if (typeof error !== 'object' || error === null) return null;
  const { driverError, code, constraint, severity, message, errors } = error as DatabaseError;
  if (typeof driverError === 'object' && driverError !== null) return problemOfDatabaseError(driverError);
  if (Array.isArray(errors) && errors.length > 0) return problemOfDatabaseError(errors[0]);
  if (typeof code === 'string' && typeof severity === 'string') {
    // only for violations (class 23), because other errors may also name an index
    const isViolation = code.startsWith('23') && typeof constraint === 'string';
    const named = isViolation ? byConstraint.get(constraint) : undefined;
    const rule = named ?? BY_SQLSTATE[code] ?? BY_SQLSTATE[code.slice(0, 3)] ?? BY_SQLSTATE[code.slice(0, 2)];
    return rule ? new Problem(rule.code, rule.detail, { headers: rule.headers, cause: error }) : null;
  }
  if (typeof message === 'string' && POOL_EXHAUSTED.test(message)) {
    return new Problem(BUSY.code, BUSY.detail, { headers: RETRY, cause: error });
  }
  const isConnectionLost =
    (typeof code === 'string' && SOCKET_CODES.has(code)) ||
    (typeof message === 'string' && LOST_CONNECTION.test(message));
  return isConnectionLost
    ? new Problem(UNREACHABLE.code, UNREACHABLE.detail, { headers: RETRY, cause: error })
    : null;
}
