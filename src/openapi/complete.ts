import type { OpenAPIObject } from '@nestjs/swagger';
import { WORKSPACE_HEADER } from '#platform/auth';
import { REQUEST_EXAMPLES, TAG_DESCRIPTIONS } from './examples';

/** The parts of a document that are completed here; the generator's own types leave most of them open. */
interface Operation {
  summary?: string;
  description?: string;
  operationId?: string;
  tags?: string[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: object }[];
  requestBody?: { content: Record<string, { examples?: object }> };
  security?: object[];
  responses: Record<string, Response | { $ref: string }>;
}

interface Response {
  description?: string;
  headers?: object;
  content?: Record<string, { schema: object }>;
}

interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: unknown;
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

const PROBLEM = { 'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemDto' } } };

const REASONS: Record<number, string> = {
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
  503: 'Something the service needs cannot be reached.',
  504: 'The time for the request ran out.',
};

const REQUEST_ID_HEADER = {
  'X-Request-Id': {
    description: 'Identifies the request in the logs of the service.',
    schema: { type: 'string' },
  },
};
const ETAG_HEADER = {
  ETag: { description: 'Names this state of the resource.', schema: { type: 'string' } },
};
const LOCATION_HEADER = {
  Location: {
    description: 'The path of the new resource.',
    schema: { type: 'string', format: 'uri-reference' },
  },
};

/** Adds to a generated document what decorators cannot say, or would have to repeat on every operation. */
export function completeDocument(document: OpenAPIObject): OpenAPIObject {
  const completed = document as unknown as {
    info: Record<string, unknown>;
    jsonSchemaDialect?: string;
    tags?: unknown[];
    paths: Record<string, Partial<Record<Method, Operation>>>;
    components: { schemas?: Record<string, Schema>; responses?: Record<string, Response> };
  };
  delete completed.info.contact;
  completed.info.license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };
  completed.jsonSchemaDialect = 'https://json-schema.org/draft/2020-12/schema';
  const tags = new Set<string>();
  for (const [path, methods] of Object.entries(completed.paths)) {
    for (const [method, operation] of Object.entries(methods) as [Method, Operation][]) {
      completeOperation(path, method, operation);
      for (const tag of operation.tags ?? []) tags.add(tag);
    }
  }
  completed.components.responses = Object.fromEntries(
    Object.entries(REASONS).map(([status, description]) => [
      status,
      { description, headers: REQUEST_ID_HEADER, ...(status !== '304' && { content: PROBLEM }) },
    ]),
  );
  completed.tags = [...tags].sort().map((name) => ({ name, description: TAG_DESCRIPTIONS[name] }));
  return document;
}

function completeOperation(path: string, method: Method, operation: Operation): void {
  const isPublic = operation.security === undefined || operation.security.length === 0;
  if (isPublic) operation.security = [];
  const parameters = operation.parameters ?? [];
  const conditional = completeParameters(method, parameters, isPublic);
  operation.parameters = parameters;
  const examples = REQUEST_EXAMPLES[operation.operationId ?? ''];
  if (examples && operation.requestBody) {
    for (const media of Object.values(operation.requestBody.content)) media.examples = examples;
  }
  const single = method === 'get' && path.endsWith('}');
  for (const [status, response] of Object.entries(operation.responses)) {
    if ('$ref' in response) continue;
    response.description ||= status.startsWith('2') ? 'Done.' : REASONS[Number(status)];
    response.headers = {
      ...response.headers,
      ...REQUEST_ID_HEADER,
      ...(status === '201' && LOCATION_HEADER),
      ...((single || conditional || status === '201') && status.startsWith('2') && ETAG_HEADER),
    };
  }
  for (const status of errorsOf(path, method, operation, isPublic, conditional)) {
    operation.responses[status] ??= { $ref: `#/components/responses/${status}` };
  }
}

/** Adds the headers that operations take. @returns whether the operation takes `If-Match`. */
function completeParameters(
  method: Method,
  parameters: NonNullable<Operation['parameters']>,
  isPublic: boolean,
): boolean {
  const header = (name: string, description: string): void => {
    parameters.push({ name, in: 'header', required: false, description, schema: { type: 'string' } });
  };
  if (!isPublic && (method === 'post' || method === 'patch')) {
    header(
      'Idempotency-Key',
      'A repeat with the same key and body within 24 hours answers what the first did.',
    );
  }
  const conditional = method === 'patch';
  if (conditional)
    header('If-Match', 'The ETag the change is based on; 412 when the resource has changed since.');
  if (method === 'get')
    header('If-None-Match', 'The ETag already held; 304 when the resource has not changed.');
  return conditional;
}

function errorsOf(
  path: string,
  method: Method,
  operation: Operation,
  isPublic: boolean,
  conditional: boolean,
): number[] {
  const inWorkspace = operation.parameters?.some(({ name }) => name === WORKSPACE_HEADER) === true;
  const writes = method !== 'get';
  const statuses = [400, 500, 503, 504];
  // what is written without a token brings its credentials in the body
  if (!isPublic || writes) statuses.push(401, 403);
  if (path.includes('{')) statuses.push(404);
  if (writes && operation.requestBody) statuses.push(404, 408, 413, 415);
  if (writes || inWorkspace) statuses.push(409);
  if (writes || operation.parameters?.some((one) => one.in === 'query')) statuses.push(422);
  if (conditional) statuses.push(412);
  if (method === 'get') statuses.push(304);
  return [...new Set(statuses)].filter((status) => status === 304 || REASONS[status] !== undefined);
}
