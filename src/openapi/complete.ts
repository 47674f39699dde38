import type { OpenAPIObject } from '@nestjs/swagger';
import { ACCESS_EXTENSION, isRead, WORKSPACE_HEADER } from '#platform/auth';
import { formatBytes, type ProblemCode, THROWS_PREFIX } from '#platform/problem';
import {
  BODIES_EXTENSION,
  BODY_EXTENSION,
  ETAG_HEADER,
  JSON_BODY,
  LIMIT_EXTENSION,
  NOT_REPEATABLE_EXTENSION,
  SCHEMAS_EXTENSION,
} from '#platform/http';
import {
  type Document,
  type Method,
  type Operation,
  operationsOf,
  type Parameter,
  type Paths,
  type Response,
  type Schema,
} from './operation';
import { completeErrors, takesEnumerated } from './operation-errors';
import type { ProblemTraits } from './problem-codes';
import { ERROR_HEADERS, LOCATION_HEADER, REASONS, SharedResponses } from './responses';
import { REQUEST_EXAMPLES, TAG_DESCRIPTIONS } from './examples';

/**
 * Adds the parts of the document that decorators cannot express, or would have to repeat on every operation.
 *
 * @param mounted paths that are not routes of Nest. Operations without an access rule describe themselves, except for the
 *   headers of every response
 * @param names the parameters of paths that take a name
 */
export function completeDocument(
  document: OpenAPIObject,
  mounted: OpenAPIObject['paths'],
  names: ReadonlySet<string>,
): OpenAPIObject {
  const completed = document as unknown as Document;
  delete completed.info.contact;
  completed.info.license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };
  completed.jsonSchemaDialect = 'https://json-schema.org/draft/2020-12/schema';
  Object.assign(completed.paths, structuredClone(mounted));
  const tags = new Set<string>();
  const responses = new SharedResponses();
  const schemas = (completed.components.schemas ??= {});
  for (const [path, methods] of Object.entries(completed.paths)) {
    for (const [method, operation] of Object.entries(methods) as [Method, Operation][]) {
      Object.assign(schemas, operation[SCHEMAS_EXTENSION]);
      if (mounted[path] && !operation[ACCESS_EXTENSION]) addHeaders(operation.responses);
      else {
        const traits = traitsOf(completed.paths, path, method, operation, names);
        if (traits.takesName) describeName(operation, traits, names);
        completeOperation(operation, traits);
        if (traits.workspace === 'required') addWorkspace(operation, schemas);
        const takesEnumeration = takesEnumerated(operation, schemas);
        completeErrors(operation, { ...traits, takesEnumeration }, responses);
      }
      // an inherited controller repeats the tags of its base
      operation.tags = [...new Set(operation.tags)];
      for (const tag of operation.tags) tags.add(tag);
      // the extensions only carry declarations of decorators to this function
      for (const name of Object.keys(operation)) {
        if (name.startsWith('x-')) Reflect.deleteProperty(operation, name);
      }
    }
  }
  closeBodies(completed.paths, schemas);
  addReadOnlyMembers(completed.paths, schemas);
  for (const name of FINAL_SCHEMAS) {
    const schema = schemas[name];
    if (schema) schema.additionalProperties = false;
  }
  completed.components.responses = responses.all();
  inheritSecurity(completed);
  completed.tags = [...tags].sort().map((name) => ({ name, description: TAG_DESCRIPTIONS[name] }));
  return document;
}

/** Declares the bearer token once. Only public operations differ. */
function inheritSecurity(document: Document): void {
  document.security = [{ bearer: [] }];
  for (const operation of operationsOf(document)) {
    if (operation.security?.length) delete operation.security;
  }
}

function addHeaders(responses: Operation['responses']): void {
  for (const [status, response] of Object.entries(responses) as [string, Response][]) {
    response.headers = { ...ERROR_HEADERS[status], ...response.headers } as Record<string, object>;
  }
}

/** Adds the `workspace_id` that every JSON body of a workspace's route accepts. */
function addWorkspace({ requestBody }: Operation, schemas: Record<string, Schema>): void {
  for (const [media, { schema = {} }] of Object.entries(requestBody?.content ?? {})) {
    const properties = schemas[schema.$ref?.split('/').at(-1) ?? '']?.properties;
    if (!properties || !/[/+]json$/.test(media)) continue;
    properties.workspace_id ??= {
      type: 'string',
      description: 'The workspace that X-Service-Workspace-Id names.',
    };
  }
}

/** Describes the parameter of a path that takes a name, and the workspace of the name. See `PathNames`. */
function describeName(operation: Operation, { workspace }: Traits, names: ReadonlySet<string>): void {
  const { parameters = [] } = operation;
  for (const one of parameters) {
    if (one.in === 'path' && names.has(one.name))
      one.description ??= 'The id, or `name:` and the name, such as `name:support%20cases`.';
  }
  if (workspace === 'required' || parameters.some(({ name }) => name === 'workspace_id')) return;
  const description =
    'The workspace of `name:` in the path. Without it, the name is looked up in the workspace of the header, or in the only one that you can access.';
  parameters.push({
    name: 'workspace_id',
    in: 'query',
    required: false,
    description,
    schema: { type: 'string' },
  });
}

/** Schemas of responses that never get more members. */
const FINAL_SCHEMAS = [
  'StoreSourceDto',
  'ArtifactPinDto',
  'PackageComponentDto',
  'PackageManifestDto',
  'StoreAudienceDto',
  'StorePolicyDto',
];

/** Schemas that accept unknown members, because clients send tools exactly as an MCP server lists them. */
const OPEN_SCHEMAS = new Set(['DeclaredToolDto']);

/** Adds the other members of the resource to the bodies of PATCH, which accept and ignore them. */
function addReadOnlyMembers(paths: Paths, schemas: Record<string, Schema>): void {
  for (const { patch } of Object.values(paths)) {
    const success = patch?.responses['200'] as Response | undefined;
    const [body, view] = [patch?.requestBody, success].map((one) => {
      const { $ref } = (one?.content?.['application/json']?.schema ?? {}) as Schema;
      return schemas[$ref?.split('/').at(-1) ?? ''];
    });
    if (!body?.properties || !view?.properties) continue;
    for (const name of Object.keys(view.properties)) body.properties[name] ??= { readOnly: true };
  }
}

/** Closes the schemas of JSON bodies and of the objects in them, because the service rejects unknown members. */
function closeBodies(paths: Paths, schemas: Record<string, Schema>): void {
  const close = ({ $ref, items, anyOf = [], allOf = [] }: Schema): void => {
    if (items) close(items);
    const parts = [...anyOf, ...allOf].filter((part) => part.$ref !== undefined);
    // several parts are the alternatives of a definition, which is validated by a service
    if (parts.length === 1) close(parts[0]!);
    const name = $ref?.split('/').at(-1) ?? '';
    const schema = schemas[name];
    if (!schema?.properties || schema.additionalProperties !== undefined || OPEN_SCHEMAS.has(name)) return;
    schema.additionalProperties = false;
    Object.values(schema.properties).forEach(close);
  };
  for (const operation of operationsOf({ paths })) {
    for (const [media, { schema = {} }] of Object.entries(operation.requestBody?.content ?? {})) {
      if (/[/+]json$/.test(media)) close(schema);
    }
  }
}

/** The traits of an operation, derived from its decorators. */
interface Traits extends Omit<ProblemTraits, 'takesEnumeration'> {
  isPublic: boolean;
  /** Whether it reads a resource with a version, which always has an ETag. */
  readsVersioned: boolean;
  /** Whether it only reads, whatever its method. */
  isRead: boolean;
  /** Whether it archives, restores or withdraws. */
  isLifecycle: boolean;
  /** Whether its path takes the name of a resource instead of its id. */
  takesName: boolean;
  /** Whether it creates a resource that has an ETag. */
  createsVersioned: boolean;
}

/** Paths of resources that do not belong to a workspace. */
const WITHOUT_WORKSPACE = /^\/registry\/v1\/(orgs|me|tokens)\b/;

const LIFECYCLE = /\/(archive|restore|withdraw)$/;

function traitsOf(
  paths: Paths,
  path: string,
  method: Method,
  operation: Operation,
  names: ReadonlySet<string>,
): Traits {
  const isPublic = operation.security === undefined || operation.security.length === 0;
  const workspaceHeader = operation.parameters?.find(({ name }) => name === WORKSPACE_HEADER);
  const declaresIfMatch = operation.parameters?.some(({ name }) => name === 'If-Match') === true;
  const isRepeatable = operation[NOT_REPEATABLE_EXTENSION] !== true && !isRead(operation[ACCESS_EXTENSION]);
  return {
    path,
    method,
    isPublic,
    acceptsIdempotencyKey: !isPublic && isRepeatable && (method === 'post' || method === 'patch'),
    acceptsIfMatch: method === 'patch' || LIFECYCLE.test(path) || declaresIfMatch,
    readsVersioned: method === 'get' && paths[path]?.patch !== undefined,
    isRateLimited: !path.startsWith('/health/'),
    isLifecycle: LIFECYCLE.test(path),
    isRead: isRead(operation[ACCESS_EXTENSION]),
    access: isPublic ? undefined : operation[ACCESS_EXTENSION],
    body:
      operation[BODY_EXTENSION] ??
      (operation.requestBody || operation[BODIES_EXTENSION] ? JSON_BODY : undefined),
    thrown: Object.keys(operation).flatMap((name) =>
      name.startsWith(THROWS_PREFIX) ? [name.slice(THROWS_PREFIX.length) as ProblemCode] : [],
    ),
    workspace: workspaceHeader?.required
      ? 'required'
      : workspaceHeader || isPublic || WITHOUT_WORKSPACE.test(path)
        ? 'none'
        : 'optional',
    takesName:
      method !== 'delete' &&
      !path.endsWith('/restore') &&
      operation.parameters?.some((one) => one.in === 'path' && names.has(one.name)) === true,
    createsVersioned:
      method === 'post' &&
      Object.entries(paths).some(
        ([one, methods]) =>
          methods.patch && one.startsWith(`${path}/{`) && !one.slice(path.length + 1).includes('/'),
      ),
  };
}

function completeOperation(operation: Operation, traits: Traits): void {
  const limit = operation[LIMIT_EXTENSION];
  // the first paragraph of a comment is the summary
  const [summary = '', ...paragraphs] = (operation.summary ?? '').split('\n\n');
  operation.summary = summary;
  operation.description = [
    ...paragraphs,
    operation.description,
    limit !== undefined && `The body can have at most ${formatBytes(limit)}.`,
    accessOf(operation, traits),
  ]
    .filter(Boolean)
    .join('\n\n');
  if (traits.isPublic) operation.security = [];
  operation.parameters = [...(operation.parameters ?? []), ...requestHeaders(traits)];
  completeBody(operation);
  for (const [status, response] of Object.entries(operation.responses)) {
    if ('$ref' in response) continue;
    response.description ||= status.startsWith('2') ? 'OK' : REASONS[Number(status)];
    const headers = { ...response.headers, ...responseHeaders(status, traits) };
    if (Object.keys(headers).length > 0) response.headers = headers;
  }
  if (traits.method === 'get') operation.responses['304'] ??= { $ref: '#/components/responses/NotModified' };
}

/** Returns the sentences that describe who may call an operation. */
function accessOf(operation: Operation, { path, workspace }: Traits): string {
  const { [ACCESS_EXTENSION]: rule } = operation;
  if (!rule || rule.kind === 'public') return 'Requires no token.';
  if (rule.kind === 'platform') return 'Only for platform principals.';
  if (rule.kind === 'principal') return 'Requires authentication, but no role.';
  const requires = `Requires ${roleList(rule.anyOf)}`;
  if (rule.kind === 'roles_everywhere') return `${requires} in the whole organization.`;
  if (rule.kind === 'roles') return `${requires}${workspace === 'required' ? '' : ' in the organization'}.`;
  return `${requires}${placeOf(path)}.`;
}

/** Returns where a role is required, unless it is the workspace that the request names or that of the resource. */
const placeOf = (path: string): string => (MODEL_CALL.test(path) ? ' in the workspace of the model' : '');

/** Paths of the model gateway that call a model. */
const MODEL_CALL = /^\/model\/v1\/(chat|responses|embeddings|messages)\b/;

const roleList = (roles: readonly string[]): string => roles.map((role) => `\`${role}\``).join(' or ');

function completeBody(operation: Operation): void {
  const schemas = operation[BODIES_EXTENSION];
  if (schemas) {
    const bodies = Object.entries(schemas).map(([media, schema]): [string, object] => [media, { schema }]);
    operation.requestBody = { required: true, content: Object.fromEntries(bodies) };
  }
  const content = operation.requestBody?.content;
  if (!content) return;
  const examples = REQUEST_EXAMPLES[operation.operationId ?? ''];
  for (const [name, media] of Object.entries(content)) {
    if (examples && /[/+]json$/.test(name)) media.examples = examples;
  }
}

function requestHeaders({
  method,
  isLifecycle,
  acceptsIdempotencyKey,
  workspace,
  takesName,
}: Traits): Parameter[] {
  const headers: [isAccepted: boolean, name: string, description: string][] = [
    [
      workspace === 'optional' && takesName,
      WORKSPACE_HEADER,
      'Selects the workspace of `name:` in the path.',
    ],
    [
      acceptsIdempotencyKey,
      'Idempotency-Key',
      'Makes the request safe to retry. A repeat with the same key and body within 24 hours returns the first successful response, with `Idempotency-Replayed: true`.',
    ],
    // other operations declare the header themselves, and describe which ETag it takes
    [
      method === 'patch' || isLifecycle,
      'If-Match',
      'The ETag of the version that you change. Returns 412 if the resource has changed since.',
    ],
  ];
  return headers.flatMap(([isAccepted, name, description]) =>
    isAccepted ? [{ name, in: 'header', required: false, description, schema: { type: 'string' } }] : [],
  );
}

function responseHeaders(status: string, traits: Traits): object {
  if (!status.startsWith('2')) return { ...ERROR_HEADERS[status] };
  const isCreated = !traits.isRead && (status === '201' || status === '202');
  const isDeleted = traits.method === 'delete';
  const hasETag = traits.readsVersioned || (traits.acceptsIfMatch && !isDeleted) || traits.createsVersioned;
  return {
    ...(isCreated && LOCATION_HEADER),
    ...(hasETag && ETAG_HEADER),
  };
}
