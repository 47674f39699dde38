import { ETAG_HEADER } from '#platform/http';
import { type ProblemCode, problemContent } from '#platform/problem';
import { pascalCase } from './names';
import { codesOfStatus } from './problem-codes';

/** Default descriptions of responses other than success. */
export const REASONS: Record<number, string> = {
  304: 'Not modified: the ETag in If-None-Match is current.',
  400: 'The request is malformed. `errors` points to the member or parameter.',
  401: 'The credential is missing or invalid.',
  403: 'You lack the required role, or access to the workspace.',
  404: 'The resource does not exist or is not visible to you.',
  408: 'The client stopped sending the request body.',
  409: 'The request conflicts with the state of this or another resource.',
  412: 'The resource has changed since the version in If-Match.',
  413: 'The body is too large.',
  415: 'The media type or encoding of the body is not supported.',
  422: 'A value is unknown, or a rule of the service forbids it.',
  429: 'A limit on requests or on costs is reached. Wait for the number of seconds in `Retry-After`.',
  500: 'Internal error. Quote the request id when you report it.',
  503: 'The service, or something it depends on, is unavailable or overloaded.',
  504: 'The request exceeded its deadline.',
};

/**
 * Names of the shared responses by their status, and the codes that most operations return with it. A response with other
 * codes is named after them.
 */
const NAMES: Record<number, { name: string; usual?: readonly ProblemCode[] }> = {
  304: { name: 'NotModified' },
  400: { name: 'BadRequest', usual: ['invalid_query', 'invalid_request'] },
  401: { name: 'Unauthorized', usual: codesOfStatus(401) },
  403: { name: 'Forbidden', usual: codesOfStatus(403) },
  404: { name: 'NotFound' },
  405: { name: 'MethodNotAllowed' },
  408: { name: 'RequestTimeout' },
  409: { name: 'Conflict' },
  412: { name: 'PreconditionFailed' },
  413: { name: 'PayloadTooLarge', usual: codesOfStatus(413) },
  415: { name: 'UnsupportedMediaType', usual: codesOfStatus(415) },
  422: { name: 'ValidationFailed', usual: ['validation_failed'] },
  429: { name: 'RateLimited' },
  500: { name: 'InternalError' },
  503: { name: 'Unavailable', usual: ['auth_unavailable', 'service_overloaded', 'service_unavailable'] },
  504: { name: 'Timeout' },
};

/** Returns the name of a response with a status, or undefined if it is named after its content. */
export const nameOfStatus = (status: string): string | undefined => NAMES[Number(status)]?.name;

/** Returns the name of a response with these codes, such as `BadRequest`, `BadRequestOrInvalidBase64` or `ForbiddenAccountSuspended`. */
export function nameOfProblem(status: number, codes: readonly ProblemCode[]): string {
  const { name, usual = codes } = NAMES[status]!;
  const others = codes.filter((code) => !usual.includes(code));
  const isWider = codes.length - others.length === usual.length;
  if (isWider) return others.length === 0 ? name : `${name}Or${others.map(pascalCase).join('')}`;
  const own = codes.map(pascalCase).join('');
  return own === name ? `${name}Only` : name + own;
}

const header = (description: string, schema: object = { type: 'string' }, required = true): object => ({
  description,
  ...(required && { required }),
  schema,
});
/** A header of all responses. Only 500 lists it. */
const REQUEST_ID_HEADER = {
  'X-Request-Id': header('Identifies the request in the logs of the service. Every response has it.'),
};

export const LOCATION_HEADER = {
  Location: header('The path of the new resource.', { type: 'string', format: 'uri-reference' }),
};

/** Headers of all responses to requests that a rate limit counts. Only 429 lists them. */
const RATE_LIMIT_HEADERS = {
  'RateLimit-Policy': header(
    'The rate limit that counts the request: its name, the number of requests (`q`) and the length of its window in seconds (`w`), such as `"reads";q=600;w=60`. Every response to a counted request has it.',
    undefined,
    false,
  ),
  RateLimit: header(
    'The state of the rate limit: its name, the number of remaining requests (`r`) and the seconds until the window ends (`t`), such as `"reads";r=599;t=60`. Every response to a counted request has it.',
    undefined,
    false,
  ),
};

/** Headers of error responses and of 304. */
export const ERROR_HEADERS: Record<string, object> = {
  304: ETAG_HEADER,
  503: {
    'Retry-After': header(
      'Seconds to wait before a retry. Present if a retry may succeed.',
      undefined,
      false,
    ),
  },
  409: {
    'Retry-After': header(
      'Seconds to wait before a retry. Present only while the first request with the same Idempotency-Key is running.',
      { type: 'string', pattern: '^[1-9][0-9]*$' },
      false,
    ),
  },
  429: {
    ...RATE_LIMIT_HEADERS,
    'Retry-After': header('Seconds to wait before a retry.', { type: 'string', pattern: '^[1-9][0-9]*$' }),
  },
  500: REQUEST_ID_HEADER,
  401: { 'WWW-Authenticate': header('`Bearer`, with `error="invalid_token"` if a token was sent.') },
  415: {
    'Accept-Encoding': header(
      'The supported encodings. Present if the encoding of the body is not supported.',
      undefined,
      false,
    ),
  },
};

/** The problems of operations below a path. */
interface ProblemFamily {
  path: RegExp;
  /** Prefix of the names of their shared responses. */
  prefix: string;
  schema: string;
  /** Additional headers of the statuses that clients retry. */
  headers?: Record<string, object>;
}

const FAMILIES: readonly ProblemFamily[] = [
  {
    path: /^\/model\/v1\//,
    prefix: 'Model',
    schema: 'GatewayProblemDto',
    headers: {
      'X-Should-Retry': header(
        '`false` if a retry cannot succeed until something changes. The clients of OpenAI and Anthropic honour it.',
        { type: 'string', const: 'false' },
        false,
      ),
    },
  },
  { path: /^/, prefix: '', schema: 'ProblemDto' },
];

const familyOf = (path: string): ProblemFamily => FAMILIES.find((one) => one.path.test(path))!;

/** Returns the schema of the problems of an operation. */
export const problemSchemaOf = (path: string): string => familyOf(path).schema;

/** Statuses that clients retry automatically. */
const RETRIED: ReadonlySet<number> = new Set([409, 429, 503]);

/** The responses that operations refer to. Operations with the same codes for a status share a response. */
export class SharedResponses {
  private readonly responses = new Map<string, object>([
    [NAMES[304]!.name, { description: REASONS[304], headers: headersOf(304) }],
  ]);

  /** Returns a reference to the response with these codes. */
  refTo(path: string, status: number, codes: readonly ProblemCode[]): string {
    const { prefix, schema, headers } = familyOf(path);
    const name = prefix + nameOfProblem(status, codes);
    this.responses.set(name, {
      description: REASONS[status],
      headers: { ...headersOf(status), ...(RETRIED.has(status) && headers) },
      content: problemContent(codes, schema),
    });
    return `#/components/responses/${name}`;
  }

  /** Returns the responses by their names. */
  all(): Record<string, object> {
    return Object.fromEntries([...this.responses].sort(([a], [b]) => a.localeCompare(b)));
  }
}

const headersOf = (status: number): object => ({ ...ERROR_HEADERS[status] });
