import type { OpenAPIObject } from '@nestjs/swagger';
import { ACCESS_EXTENSION, type AccessRule, WORKSPACE_HEADER } from '#platform/auth';
import { BODIES_EXTENSION, ETAG_HEADER, NOT_REPEATABLE_EXTENSION } from '#platform/http';
import {
  ERROR_HEADERS,
  LOCATION_HEADER,
  REASONS,
  REPLAYED_HEADER,
  REQUEST_ID_HEADER,
  SHARED_ANSWERS,
} from './answers';
import { REQUEST_EXAMPLES, TAG_DESCRIPTIONS } from './examples';

/** The parts of a document that are completed here; the generator's own types leave most of them open. */
interface Operation {
  summary?: string;
  description?: string;
  operationId?: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema?: object; examples?: object }> };
  security?: object[];
  responses: Record<string, Response | { $ref: string }>;
  [NOT_REPEATABLE_EXTENSION]?: boolean;
  [BODIES_EXTENSION]?: Record<string, object>;
  [ACCESS_EXTENSION]?: AccessRule;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: object;
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
type Paths = Record<string, Partial<Record<Method, Operation>>>;

/** Adds to a generated document what decorators cannot say, or would have to repeat on every operation. */
export function completeDocument(document: OpenAPIObject): OpenAPIObject {
  const completed = document as unknown as {
    info: Record<string, unknown>;
    jsonSchemaDialect?: string;
    tags?: unknown[];
    paths: Paths;
    components: { schemas?: Record<string, Schema>; responses?: Record<string, Response> };
  };
  delete completed.info.contact;
  completed.info.license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };
  completed.jsonSchemaDialect = 'https://json-schema.org/draft/2020-12/schema';
  const tags = new Set<string>();
  for (const [path, methods] of Object.entries(completed.paths)) {
    for (const [method, operation] of Object.entries(methods) as [Method, Operation][]) {
      completeOperation(operation, traitsOf(completed.paths, path, method, operation));
      for (const tag of operation.tags ?? []) tags.add(tag);
    }
  }
  completed.components.responses = SHARED_ANSWERS;
  completed.tags = [...tags].sort().map((name) => ({ name, description: TAG_DESCRIPTIONS[name] }));
  return document;
}

/** What the decorators of an operation amount to. */
interface Traits {
  path: string;
  method: Method;
  isPublic: boolean;
  takesIdempotencyKey: boolean;
  takesIfMatch: boolean;
  /** Acts within the workspace of the header; or takes the header to narrow what it reaches. */
  workspace: 'required' | 'optional' | 'none';
  archives: boolean;
  /** Makes what takes conditional edits, so that its making answers the ETag to begin with. */
  makesVersioned: boolean;
}

/** Operations that are not about what lies in workspaces. */
const BEYOND_WORKSPACES = /^\/registry\/v1\/(orgs|me|tokens)\b/;

function traitsOf(paths: Paths, path: string, method: Method, operation: Operation): Traits {
  const isPublic = operation.security === undefined || operation.security.length === 0;
  const takesHeader = operation.parameters?.some(({ name }) => name === WORKSPACE_HEADER) === true;
  const declaresIfMatch = operation.parameters?.some(({ name }) => name === 'If-Match') === true;
  const notRepeatable = operation[NOT_REPEATABLE_EXTENSION] === true;
  return {
    path,
    method,
    isPublic,
    takesIdempotencyKey: !isPublic && !notRepeatable && (method === 'post' || method === 'patch'),
    takesIfMatch: method === 'patch' || path.endsWith('/archive') || declaresIfMatch,
    archives: path.endsWith('/archive'),
    workspace: takesHeader ? 'required' : isPublic || BEYOND_WORKSPACES.test(path) ? 'none' : 'optional',
    makesVersioned:
      method === 'post' &&
      Object.entries(paths).some(
        ([one, methods]) =>
          methods.patch && one.startsWith(`${path}/{`) && !one.slice(path.length + 1).includes('/'),
      ),
  };
}

function completeOperation(operation: Operation, traits: Traits): void {
  Reflect.deleteProperty(operation, NOT_REPEATABLE_EXTENSION);
  operation.description = [operation.description, accessOf(operation, traits)].filter(Boolean).join('\n\n');
  Reflect.deleteProperty(operation, ACCESS_EXTENSION);
  if (traits.isPublic) operation.security = [];
  operation.parameters = [...(operation.parameters ?? []), ...headersTaken(traits)];
  completeBody(operation, traits);
  for (const [status, response] of Object.entries(operation.responses)) {
    if ('$ref' in response) continue;
    response.description ||= status.startsWith('2') ? 'Done.' : REASONS[Number(status)];
    response.headers = { ...response.headers, ...headersAnswered(status, traits) };
  }
  for (const status of errorsOf(operation, traits)) {
    operation.responses[status] ??= { $ref: `#/components/responses/${status}` };
  }
}

/** Who may call an operation, for people. */
function accessOf({ [ACCESS_EXTENSION]: rule }: Operation, { path, method, workspace }: Traits): string {
  const showsMany = !path.includes('{') && (method === 'get' || path.endsWith('/search'));
  if (!rule) return 'Needs no token.';
  switch (rule.kind) {
    case 'public':
      return 'Needs no token.';
    case 'platform':
      return 'For platform principals alone.';
    case 'principal':
      return 'For everybody who is authenticated.';
    case 'member':
      return 'For everybody who is authenticated in an organization.';
    case 'roles_everywhere':
      return `Needs the role ${named(rule.anyOf)} in all of the organization.`;
    case 'roles_somewhere':
      return showsMany
        ? `Needs the role ${named(rule.anyOf)} in some workspace, and shows what lies in those where it is held.`
        : `Needs the role ${named(rule.anyOf)} in the workspace of what it is about.`;
    case 'roles':
      return `Needs the role ${named(rule.anyOf)} in the ${workspace === 'required' ? 'workspace' : 'organization'}.`;
  }
}

const named = (roles: readonly string[]): string => roles.map((role) => `\`${role}\``).join(' or ');

function completeBody(operation: Operation, { method }: Traits): void {
  const schemas = operation[BODIES_EXTENSION];
  Reflect.deleteProperty(operation, BODIES_EXTENSION);
  if (schemas) {
    const bodies = Object.entries(schemas).map(([media, schema]): [string, object] => [media, { schema }]);
    operation.requestBody = { required: true, content: Object.fromEntries(bodies) };
  }
  const content = operation.requestBody?.content;
  if (!content) return;
  const json = content['application/json'];
  if (method === 'patch' && json) content['application/merge-patch+json'] = json;
  const examples = REQUEST_EXAMPLES[operation.operationId ?? ''];
  for (const [name, media] of Object.entries(content)) {
    if (examples && /[/+]json$/.test(name)) media.examples = examples;
  }
}

function headersTaken({ method, archives, takesIdempotencyKey, workspace }: Traits): Parameter[] {
  const taken: [taken: boolean, name: string, description: string][] = [
    [
      workspace === 'optional',
      WORKSPACE_HEADER,
      'Narrows what the request reaches to this workspace. Another workspace that the path names is 404 then, whether it exists or not, and `detail` says that the header narrows the request.',
    ],
    [
      takesIdempotencyKey,
      'Idempotency-Key',
      'A repeat with the same key and body within 24 hours answers what the first did.',
    ],
    // others tell whose ETag it is
    [
      method === 'patch' || archives,
      'If-Match',
      'The ETag the change is based on; 412 when the resource has changed since.',
    ],
    [method === 'get', 'If-None-Match', 'The ETag already held; 304 when the resource has not changed.'],
  ];
  return taken.flatMap(([isTaken, name, description]) =>
    isTaken ? [{ name, in: 'header', required: false, description, schema: { type: 'string' } }] : [],
  );
}

function headersAnswered(status: string, traits: Traits): object {
  if (!status.startsWith('2')) return { ...REQUEST_ID_HEADER, ...ERROR_HEADERS[status] };
  const isMade = status === '201' || status === '202';
  const hasETag = traits.method === 'get' || traits.takesIfMatch || traits.makesVersioned;
  return {
    ...REQUEST_ID_HEADER,
    ...(isMade && LOCATION_HEADER),
    ...(hasETag && ETAG_HEADER),
    ...(traits.takesIdempotencyKey && REPLAYED_HEADER),
  };
}

function errorsOf(
  operation: Operation,
  { path, method, isPublic, takesIfMatch, workspace }: Traits,
): number[] {
  const writes = method !== 'get';
  const statuses = [400, 500, 503, 504];
  // what is written without a token brings its credentials in the body
  if (!isPublic || writes) statuses.push(401, 403);
  if (path.includes('{')) statuses.push(404);
  if (writes && operation.requestBody) statuses.push(404, 408, 413, 415);
  if (writes || workspace === 'required') statuses.push(409);
  if (writes || operation.parameters?.some((one) => one.in === 'query')) statuses.push(422);
  if (takesIfMatch) statuses.push(412);
  if (method === 'get') statuses.push(304);
  return [...new Set(statuses)];
}
