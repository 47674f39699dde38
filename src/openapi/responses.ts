import { ETAG_HEADER } from '#platform/http';

const PROBLEM = { 'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemDto' } } };

/** Default descriptions of responses other than success. */
export const REASONS: Record<number, string> = {
  304: 'Not modified: the ETag in If-None-Match is current.',
  400: 'The request is malformed. `errors` points to the member or parameter.',
  401: 'The credential is missing or invalid.',
  403: 'You do not have the required role, or no access to the workspace.',
  404: 'The resource does not exist or is not visible to you.',
  408: 'The client stopped sending the request body.',
  409: 'The request conflicts with the state of this or another resource.',
  412: 'The resource has changed since the version that If-Match names.',
  413: 'The body is too large.',
  415: 'The media type or encoding of the body is not supported.',
  422: 'A value is unknown, or a rule of the service forbids it.',
  500: 'Internal error. Quote the request id when you report it.',
  503: 'The service, or something it depends on, is unavailable or overloaded.',
  504: 'The request exceeded its deadline.',
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
    'Present if this is the stored answer of an earlier request with the same Idempotency-Key.',
    { type: 'string', const: 'true' },
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
  401: { 'WWW-Authenticate': header('`Bearer`, with `error="invalid_token"` if a token was sent.') },
  415: {
    'Accept-Encoding': header(
      'The supported encodings. Present if the encoding of the body is not supported.',
      undefined,
      false,
    ),
  },
};

/** The shared responses that operations refer to. */
export const SHARED_RESPONSES = Object.fromEntries(
  Object.entries(REASONS).map(([status, description]) => [
    status,
    {
      description,
      headers: { ...REQUEST_ID_HEADER, ...ERROR_HEADERS[status] },
      ...(status !== '304' && { content: PROBLEM }),
    },
  ]),
);
