import { ETAG_HEADER } from '#platform/http';

const PROBLEM = { 'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemDto' } } };

/** Why an operation answers a status that is no success. */
export const REASONS: Record<number, string> = {
  304: 'Not modified: the resource is the one that If-None-Match names.',
  400: 'The request is not of the form the operation takes.',
  401: 'Not authenticated.',
  403: 'Not allowed.',
  404: 'Missing, or not visible to the caller.',
  408: 'The client stopped sending its request.',
  409: 'The state of the resource, or of another one, forbids it.',
  412: 'If-Match names another version than the present one.',
  413: 'The body is too large.',
  415: 'The body is of an unsupported media type or encoding.',
  422: 'A value is not one of those known, or a rule of the service forbids it.',
  500: 'Something unforeseen; quote the request id.',
  503: 'Something the service needs cannot be reached, or is too busy.',
  504: 'The time for the request ran out.',
};

const header = (description: string, schema: object = { type: 'string' }, required = true): object => ({
  description,
  ...(required && { required }),
  schema,
});
export const REQUEST_ID_HEADER = {
  'X-Request-Id': header('Identifies the request in the logs of the service.'),
};
export const LOCATION_HEADER = {
  Location: header('The path of the new resource.', { type: 'string', format: 'uri-reference' }),
};
export const REPLAYED_HEADER = {
  'Idempotency-Replayed': header(
    'The answer is that of an earlier request with this Idempotency-Key.',
    { type: 'string', const: 'true' },
    false,
  ),
};

/** Headers of errors, and of what is not modified. */
export const ERROR_HEADERS: Record<string, object> = {
  304: ETAG_HEADER,
  503: {
    'Retry-After': header('Seconds after which to try again, where trying again may help.', undefined, false),
  },
  401: { 'WWW-Authenticate': header('`Bearer`, with `error="invalid_token"` where a token was sent.') },
  415: {
    'Accept-Encoding': header(
      'The encodings that are understood, where it was not one of them.',
      undefined,
      false,
    ),
  },
};

/** The answers that operations refer to. */
export const SHARED_ANSWERS = Object.fromEntries(
  Object.entries(REASONS).map(([status, description]) => [
    status,
    {
      description,
      headers: { ...REQUEST_ID_HEADER, ...ERROR_HEADERS[status] },
      ...(status !== '304' && { content: PROBLEM }),
    },
  ]),
);
