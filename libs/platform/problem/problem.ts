import { CATALOGUE, type ProblemCode } from './catalogue';

/** One fault within a request: a JSON pointer (RFC 6901) into its body, or the name of a parameter or header. */
export type FieldError = { pointer: string; detail: string } | { parameter: string; detail: string };

/** The error body of every operation: problem details (RFC 9457) with a machine-readable `code`. */
export interface ProblemBody {
  title: string;
  status: number;
  detail: string;
  code: ProblemCode;
  trace_id: string | null;
  errors?: FieldError[];
}

export interface ProblemOptions {
  /** Overrides the catalogue's status, for codes with several. */
  status?: number;
  errors?: FieldError[];
  /** Response headers that belong to the error: `Allow`, `Retry-After`, `Accept-Encoding`. */
  headers?: Record<string, string>;
  /** Extension members of the body (RFC 9457, section 3.2). */
  members?: Record<string, string>;
  /** True if a system that a tenant registered failed, and not this service. Such a failure is not logged as an error. */
  isUpstream?: boolean;
  /** The caught error. Logged with the request id, never returned. */
  cause?: unknown;
}

/** Maximum number of faults in one response. */
const MAX_ERRORS = 100;

/**
 * An error that is returned to the client unchanged. `detail` names the member, the rule and the remedy, and contains no
 * SQL, stacks, paths, secrets or data of other tenants. Create it with the `problem` functions.
 */
export class Problem extends Error {
  readonly status: number;
  readonly errors: FieldError[] | undefined;
  readonly headers: Record<string, string>;
  readonly members: Record<string, string>;
  readonly isUpstream: boolean;

  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
    options: ProblemOptions = {},
  ) {
    super(detail, { cause: options.cause });
    this.name = 'Problem';
    this.status = options.status ?? CATALOGUE[code].status;
    this.errors = options.errors?.slice(0, MAX_ERRORS);
    this.headers = options.headers ?? {};
    this.members = options.members ?? {};
    this.isUpstream = options.isUpstream ?? false;
  }

  /** Returns a copy with more members and headers. Existing ones are not replaced. */
  withMembers(members: Record<string, string>, headers: Record<string, string> = {}): Problem {
    return new Problem(this.code, this.detail, {
      status: this.status,
      errors: this.errors,
      headers: { ...headers, ...this.headers },
      members: { ...members, ...this.members },
      isUpstream: this.isUpstream,
      cause: this.cause,
    });
  }

  /**
   * Returns the problem of a part of a body with pointers into the complete body.
   *
   * @param pointer to the part
   */
  withPointerPrefix(pointer: string): Problem {
    const [first] = this.errors ?? [];
    if (!first) return this;
    const errors = this.errors!.map((one) =>
      'pointer' in one ? { ...one, pointer: pointer + one.pointer } : one,
    );
    const fault = describe(first);
    const detail = this.detail.startsWith(fault)
      ? describe(errors[0]!) + this.detail.slice(fault.length)
      : this.detail;
    return new Problem(this.code, detail, { status: this.status, errors });
  }

  /** @param traceId the W3C trace id of the request; null within a bulk item */
  toBody(traceId: string | null): ProblemBody {
    return {
      ...this.members,
      title: CATALOGUE[this.code].title,
      status: this.status,
      detail: this.detail,
      code: this.code,
      trace_id: traceId,
      ...(this.errors && this.errors.length > 0 ? { errors: this.errors } : {}),
    };
  }
}

/** Returns a row that was looked up. Throws 404 if there is none. */
export function orNotFound<Row>(row: Row | null | undefined | false, kind: string, id: string | number): Row {
  if (!row) throw problem.notFound(kind, String(id));
  return row;
}

/** Returns an id from a client for use in a message, or an empty text if it is not a plain id. */
const formatId = (id: string): string => (/^[\w.:%-]{1,64}$/.test(id) ? ` ${id}` : '');

const describe = (error: FieldError): string => {
  if (!('pointer' in error)) return `${error.parameter}: ${error.detail}`;
  return error.pointer === '' ? `The body ${error.detail}` : `${error.pointer}: ${error.detail}`;
};

const summarize = (errors: FieldError[]): string => {
  const [first] = errors;
  if (!first) return 'The request is not valid.';
  return `${describe(first)}${moreThanOne(errors)}`;
};

const moreThanOne = (errors: FieldError[]): string =>
  errors.length > 1 ? ` (and ${errors.length - 1} more, see errors)` : '';

/** The catalogue as functions. Each creates an error for the caller to throw. */
export const problem = {
  /** 400: the body or a header is malformed. */
  invalidRequest: (detail: string, options?: ProblemOptions) =>
    new Problem('invalid_request', detail, options),

  /** 400 for faults found by validation, each with its JSON pointer. */
  invalidFields: (errors: FieldError[]) => new Problem('invalid_request', summarize(errors), { errors }),

  /** 400: the same for one member. */
  invalidField: (pointer: string, detail: string): Problem => problem.invalidFields([{ pointer, detail }]),

  /** 400: a query parameter is unknown, of the wrong type or out of range. */
  invalidQuery: (parameter: string, detail: string) =>
    new Problem('invalid_query', `${parameter}: ${detail}`, { errors: [{ parameter, detail }] }),

  invalidQueries: (errors: FieldError[]) => new Problem('invalid_query', summarize(errors), { errors }),

  /** 400: a header is missing or malformed. */
  invalidHeader: (header: string, detail: string) =>
    new Problem('invalid_request', `${header}: ${detail}`, { errors: [{ parameter: header, detail }] }),

  /** 400: a parameter of the path is malformed. */
  invalidPath: (parameter: string, detail: string) =>
    new Problem('invalid_request', `${parameter}: ${detail}`, { errors: [{ parameter, detail }] }),

  /** 401 with the code of the failed check. */
  unauthenticated: (code: ProblemCode, detail: string) => new Problem(code, detail),

  accessDenied: (detail: string) => new Problem('access_denied', detail),
  forbidden: (detail: string) => new Problem('forbidden', detail),

  /**
   * 404: missing, or not visible to the caller, which look the same. `kind` is a noun such as `dataset`. `hint` is a sentence
   * about what the request itself excludes, independent of what exists.
   */
  notFound: (kind: string, id = '', hint = '') =>
    new Problem(
      'not_found',
      `The ${kind}${formatId(id)} does not exist or is not visible to you.${hint && ` ${hint}`}`,
    ),

  /** 404 for an id in a body under /eval/v1, with its pointer. */
  unknownReference: (pointer: string, kind: string, id: string) => {
    const detail = `The ${kind}${formatId(id)} does not exist or is not visible to you.`;
    return new Problem('not_found', detail, { errors: [{ pointer, detail }] });
  },

  /** 404 for several ids in a body. The detail is that of the first one. */
  unknownReferences: (errors: FieldError[]) =>
    new Problem('not_found', `${errors[0]!.detail}${moreThanOne(errors)}`, { errors }),

  /** 404 for an id in a query parameter. */
  unknownParameter: (parameter: string, kind: string, id: string) => {
    const detail = `The ${kind}${formatId(id)} does not exist or is not visible to you.`;
    return new Problem('not_found', `${parameter}: ${detail}`, {
      errors: [{ parameter, detail }],
    });
  },

  conflict: (detail: string, options?: ProblemOptions) => new Problem('conflict', detail, options),
  preconditionFailed: (detail: string) => new Problem('precondition_failed', detail),

  /** 422: well-formed, but with an unknown value or a value that a rule forbids. */
  validationFailed: (errors: FieldError[] | string) =>
    typeof errors === 'string'
      ? new Problem('validation_failed', errors)
      : new Problem('validation_failed', summarize(errors), { errors }),

  immutableField: (pointer: string) =>
    new Problem('immutable_field', `${pointer} cannot be changed. Omit it or send its current value.`, {
      errors: [{ pointer, detail: 'cannot be changed' }],
    }),

  /** 429: too many requests, or a spent budget. */
  rateLimited: (detail: string, retryAfterSeconds: number) =>
    new Problem('rate_limited', detail, { headers: { 'Retry-After': String(retryAfterSeconds) } }),

  /** 503: the database, the queue, an upstream or a judge backend cannot be reached. */
  unavailable: (detail: string, options?: ProblemOptions) =>
    new Problem('service_unavailable', detail, options),

  /** 503: too many requests at once. Retry shortly. */
  overloaded: (detail: string) =>
    new Problem('service_overloaded', detail, { headers: { 'Retry-After': '1' } }),
};
