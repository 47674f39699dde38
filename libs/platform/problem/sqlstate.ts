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
  detail: 'The database cannot be reached at the moment. Try again.',
  headers: RETRY,
};

const BUSY: Rule = {
  code: 'service_unavailable',
  detail: 'No connection to the database could be had in time. Try again.',
  headers: RETRY,
};

/**
 * What an error of PostgreSQL means to a client, by SQLSTATE (PostgreSQL manual, appendix A) or, where the whole
 * class means the same, by its first two characters. What is not here is an `internal_error`.
 */
const BY_SQLSTATE: Record<string, Rule> = {
  '23505': { code: 'conflict', detail: 'Something with the same name or key exists already.' },
  '23503': { code: 'conflict', detail: 'The request refers to something that does not exist any more.' },
  '23514': { code: 'validation_failed', detail: 'A value is not one of those allowed.' },
  '23502': { code: 'invalid_request', detail: 'A required member is missing.' },
  '22001': { code: 'invalid_request', detail: 'A value is too long.' },
  '22003': { code: 'invalid_request', detail: 'A number is out of range.' },
  '22007': { code: 'invalid_request', detail: 'A time is not a valid RFC 3339 time.' },
  '22008': { code: 'invalid_request', detail: 'A time is out of range.' },
  '22021': { code: 'invalid_request', detail: 'A text holds a character that cannot be stored (NUL).' },
  '22P02': { code: 'invalid_request', detail: 'A value is not of the right form.' },
  '22P05': { code: 'invalid_request', detail: 'A text holds a character that cannot be stored (NUL).' },
  '40001': {
    code: 'service_unavailable',
    detail: 'The request collided with others. Try again.',
    headers: RETRY,
  },
  '40P01': {
    code: 'service_unavailable',
    detail: 'The request collided with others. Try again.',
    headers: RETRY,
  },
  '54000': { code: 'invalid_request', detail: 'A value is too large to be stored.' },
  '55P03': {
    code: 'service_unavailable',
    detail: 'The resource is busy with another request. Try again.',
    headers: RETRY,
  },
  '57014': { code: 'request_timeout', detail: 'The database did not answer in time.' },
  '08': UNREACHABLE,
  '53': {
    code: 'service_unavailable',
    detail: 'The database has no room for more work. Try again.',
    headers: RETRY,
  },
  '57P': UNREACHABLE,
};

/** Constraints whose violation can be told more precisely than by SQLSTATE alone; each area adds its own. */
const byConstraint = new Map<string, Rule>();

/** Declares what the violation of a named constraint means. Called once per constraint, as a module loads. */
export function explainConstraint(constraint: string, code: ProblemCode, detail: string): void {
  byConstraint.set(constraint, { code, detail });
}

/** Errors of the socket to PostgreSQL, before there is any SQLSTATE. */
const SOCKET_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN']);
const LOST_CONNECTION = /Connection terminated|connection is closed|not queryable/i;
/** What pg-pool says when none of its connections became free in time. */
const POOL_EXHAUSTED = /timeout exceeded when trying to connect/i;

interface DatabaseError {
  code?: unknown;
  constraint?: unknown;
  severity?: unknown;
  driverError?: unknown;
  message?: unknown;
  errors?: unknown;
}

/** The problem that an error of the database driver (or of TypeORM around it) stands for; null when it is no such error. */
export function problemOfDatabaseError(error: unknown): Problem | null {
  if (typeof error !== 'object' || error === null) return null;
  const { driverError, code, constraint, severity, message, errors } = error as DatabaseError;
  if (typeof driverError === 'object' && driverError !== null) return problemOfDatabaseError(driverError);
  if (Array.isArray(errors) && errors.length > 0) return problemOfDatabaseError(errors[0]);
  if (typeof code === 'string' && typeof severity === 'string') {
    // of violations (class 23) alone: an index is also named by what cannot be put into it
    const isViolation = code.startsWith('23') && typeof constraint === 'string';
    const named = isViolation ? byConstraint.get(constraint) : undefined;
    const rule = named ?? BY_SQLSTATE[code] ?? BY_SQLSTATE[code.slice(0, 3)] ?? BY_SQLSTATE[code.slice(0, 2)];
    return rule ? new Problem(rule.code, rule.detail, { headers: rule.headers, cause: error }) : null;
  }
  if (typeof message === 'string' && POOL_EXHAUSTED.test(message)) {
    return new Problem(BUSY.code, BUSY.detail, { headers: RETRY, cause: error });
  }
  const lost =
    (typeof code === 'string' && SOCKET_CODES.has(code)) ||
    (typeof message === 'string' && LOST_CONNECTION.test(message));
  return lost ? new Problem(UNREACHABLE.code, UNREACHABLE.detail, { headers: RETRY, cause: error }) : null;
}
