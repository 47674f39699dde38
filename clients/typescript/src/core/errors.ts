/** What a problem says about one member of a request. */
export interface FieldError {
  /** A JSON pointer into the body, such as `/items/3/case_id`. */
  pointer?: string;
  /** The name of a query parameter, header or path parameter. */
  parameter?: string;
  detail: string;
}

interface Problem {
  title?: string;
  detail?: string;
  code?: string;
  trace_id?: string;
  errors?: FieldError[];
  error?: string | { message?: string; code?: string | null; type?: string | null };
  error_description?: string;
}

/** Thrown if the service answers with an error. `code` is stable; `detail` is for people and may change. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly status: number;
  /** A stable name of what was wrong, such as `not_found` or `validation_failed`. */
  readonly code: string;
  readonly title: string;
  /** What was wrong, and what would be right. */
  readonly detail: string;
  /** The members at fault, if the request was invalid. */
  readonly errors: FieldError[];
  /** Names the request in the service's logs. */
  readonly requestId: string | null;
  /** Seconds to wait before the next attempt, if the service says so. */
  readonly retryAfter: number | null;
  readonly traceId: string | null;

  /** @param text the body of the response */
  constructor(response: Response, text: string) {
    const problem = parseProblem(text);
    const inner = typeof problem.error === 'object' ? problem.error : undefined;
    const word = typeof problem.error === 'string' ? problem.error : undefined;
    const code = problem.code ?? inner?.code ?? inner?.type ?? word ?? defaultCode(response.status);
    const detail =
      problem.detail ??
      inner?.message ??
      problem.error_description ??
      (text.slice(0, 500) || response.statusText);
    super(`${response.status} ${code}: ${detail}`);
    this.status = response.status;
    this.code = code;
    this.title = problem.title ?? response.statusText;
    this.detail = detail;
    this.errors = problem.errors ?? [];
    this.requestId = response.headers.get('x-request-id');
    this.retryAfter = readRetryAfter(response.headers.get('retry-after'));
    this.traceId = problem.trace_id ?? null;
  }
}

/** Thrown if the service did not answer: it cannot be reached, or the connection broke. `cause` says why. */
export class ConnectionError extends Error {
  override readonly name: string = 'ConnectionError';
}

/** Thrown if the service did not answer in time. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError';
}

/** Thrown if the client does not know where the service is, or with which key to call it. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

function parseProblem(text: string): Problem {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {}; // of a proxy in front of the service
  }
}

const defaultCode = (status: number): string => (status === 304 ? 'not_modified' : `http_${status}`);

/** Reads Retry-After: seconds, or a date. */
function readRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}
