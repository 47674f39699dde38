import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { OpenAPIObject } from '@nestjs/swagger';
import { escapedToken } from '#platform/json';

/** A response to check against the contract. */
export interface ObservedAnswer {
  method: string;
  /** Path with its query, as requested. */
  url: string;
  status: number;
  headers: Headers;
  /** Parsed JSON, else the text. */
  body: unknown;
}

interface Operation {
  operationId: string;
  method: string;
  path: string;
  pattern: RegExp;
  /** By status. */
  responses: Map<string, { response: DocumentedResponse; pointer: string[] }>;
}

interface DocumentedOperation {
  operationId: string;
  responses: Record<string, DocumentedResponse | { $ref: string }>;
}

interface DocumentedResponse {
  headers?: Record<string, { required?: boolean; $ref?: string }>;
  content?: Record<string, { schema?: object }>;
}

type Schema = Record<string, unknown>;

const SCHEMA_ID = 'contract';

/** Headers that clients rely on. The document must describe them wherever they are sent, unless every response has them. */
const DOCUMENTED = [
  'etag',
  'location',
  'retry-after',
  'repr-digest',
  'www-authenticate',
  'accept-encoding',
  'content-disposition',
];

let committed: OpenAPIObject | undefined;
let inlined: OpenAPIObject | undefined;

const readDocument = (): OpenAPIObject =>
  (committed ??= withOwnParameters(JSON.parse(readFileSync('openapi.json', 'utf8')) as OpenAPIObject));

/** Moves the parameters of paths into their operations. */
export function withOwnParameters<Document extends Pick<OpenAPIObject, 'paths'>>(
  document: Document,
): Document {
  for (const item of Object.values(document.paths)) {
    const { parameters: shared = [] } = item;
    delete item.parameters;
    for (const operation of Object.values(item as Record<string, { parameters?: unknown[] }>)) {
      operation.parameters = [...shared, ...(operation.parameters ?? [])];
    }
  }
  return document;
}

/**
 * Returns the committed document, with the parameters, responses and headers of each operation in place of references. A
 * test compares the file with the service. Do not modify the document.
 */
export const committedDocument = <Document = OpenAPIObject>(): Document =>
  (inlined ??= withoutReferences(readDocument())) as Document;

/** Replaces references to components that are not schemas. */
function withoutReferences(document: OpenAPIObject): OpenAPIObject {
  const inline = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part;
    const [, kind, name] =
      /^#\/components\/(parameters|responses|headers)\/(.+)$/.exec(
        String((part as { $ref?: unknown }).$ref),
      ) ?? [];
    if (kind) return inline((document.components as Record<string, Record<string, unknown>>)[kind]![name!]);
    if (Array.isArray(part)) return part.map(inline);
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, inline(value)]));
  };
  const schemas = flattened((document.components?.schemas ?? {}) as Record<string, Schema>);
  return {
    ...document,
    paths: inline(document.paths) as OpenAPIObject['paths'],
    components: { ...document.components, schemas },
  };
}

/** Returns schemas in which those that extend another one have all its members themselves. */
function flattened(schemas: Record<string, Schema>): Record<string, Schema> {
  const flat = (schema: Schema): Schema => {
    const [base, own] = (schema.allOf ?? []) as Schema[];
    if (typeof base?.$ref !== 'string' || !own?.properties) return schema;
    const { properties, required = [], ...others } = flat(schemas[nameOf({ $ref: base.$ref })]!);
    return {
      ...others,
      properties: { ...(properties as object), ...own.properties },
      required: [...(required as string[]), ...((own.required ?? []) as string[])],
    };
  };
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, flat(schema)]));
}

/**
 * Checks responses against the committed OpenAPI document. The operation, the status and the media type must be documented.
 * The response must have the required headers, and no undocumented headers that clients rely on. The body must match its
 * schema, without undocumented members. For a response that an API sent through the proxy, only the service's own headers are
 * checked.
 */
export class Contract {
  /** Operations seen so far, as `METHOD /path/{template} status`. */
  readonly seen = new Set<string>();
  readonly operations: readonly Operation[] = description().operations;
  private readonly schemas = description().schemas;

  /** Throws an Error that describes how a response differs from the document. */
  check(answer: ObservedAnswer): void {
    const path = answer.url.split('?')[0]!;
    const operation = this.operations.find((one) => one.method === answer.method && one.pattern.test(path));
    if (!operation) return; // problems of unknown routes and methods belong to no operation
    const isForwarded = answer.headers.has('via');
    const status = isForwarded ? statusOf(answer.status) : String(answer.status);
    const label = `${operation.method} ${operation.path} ${status}`;
    const documented = operation.responses.get(status);
    if (!documented)
      throw new Error(`${label} is not in openapi.json: ${JSON.stringify(answer.body)?.slice(0, 500)}`);
    this.seen.add(label);
    const { response, pointer } = documented;
    if (!answer.headers.has('x-request-id')) throw new Error(`${label} has no X-Request-Id.`);
    for (const [name, { required }] of Object.entries(response.headers ?? {})) {
      if (required && !answer.headers.has(name)) throw new Error(`${label} has no ${name}.`);
    }
    if (isForwarded) return;
    for (const name of DOCUMENTED) {
      // the document says once that every GET may have an ETag of its content
      if (name === 'etag' && answer.method === 'GET') continue;
      const isDocumented = Object.keys(response.headers ?? {}).some((one) => one.toLowerCase() === name);
      if (answer.headers.has(name) && !isDocumented) throw new Error(`${label}: ${name} is not documented.`);
    }
    if (!response.content || answer.method === 'HEAD') return;
    const media = (answer.headers.get('content-type') ?? '').split(';')[0]!.trim();
    // content of any type has no schema other than bytes
    if (response.content['*/*'] && !response.content[media]) return;
    if (!response.content[media]) throw new Error(`${label}: the media type ${media} is not documented.`);
    const validate =
      response.content[media].schema && this.schemas.validatorOf([...pointer, 'content', media, 'schema']);
    if (validate && !validate(answer.body)) {
      const faults = this.schemas.faultsOf(validate).slice(0, 2_000);
      throw new Error(
        `${label} does not match its schema: ${faults}\n${JSON.stringify(answer.body)?.slice(0, 1000)}`,
      );
    }
  }
}

/** Returns the key of the responses of an API in the document. */
const statusOf = (status: number): string => (status === 200 ? '200' : 'default');

/** The compiled schemas of a document. Compiling them takes longer than most tests. */
class DocumentSchemas {
  private readonly ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    validateFormats: true,
    validateSchema: false,
    inlineRefs: false,
    code: { optimize: false },
  });
  private readonly validators = new Map<string, ValidateFunction>();

  constructor(document: OpenAPIObject) {
    addFormats.default(this.ajv);
    const closed = JSON.parse(JSON.stringify(document)) as {
      components?: { schemas?: Record<string, Schema> };
    };
    const schemas = flattened(closed.components?.schemas ?? {});
    for (const schema of Object.values(schemas)) {
      [schema, ...((schema.oneOf ?? []) as Schema[])].forEach(close);
    }
    this.ajv.addSchema({ $id: SCHEMA_ID, ...closed, components: { ...closed.components, schemas } });
  }

  validatorOf(parts: string[]): ValidateFunction {
    const pointer = parts.map(escapedToken).join('/');
    let validate = this.validators.get(pointer);
    if (!validate) {
      validate = this.ajv.compile({ $ref: `${SCHEMA_ID}#/${encodeURI(pointer)}` });
      this.validators.set(pointer, validate);
    }
    return validate;
  }

  faultsOf({ errors }: ValidateFunction): string {
    return this.ajv.errorsText(errors, { dataVar: 'body' });
  }
}

/** Returns the codes that the document lists for an operation, by status. */
export function documentedCodes(operationId: string): Record<string, string[]> {
  const { responses } = description().operations.find((one) => one.operationId === operationId)!;
  const codes = [...responses].flatMap(([status, { response }]) => {
    const problem = response.content?.['application/problem+json']?.schema as ProblemSchema | undefined;
    return problem ? [[status, problem.allOf[1].properties.code.enum] as const] : [];
  });
  return Object.fromEntries(codes);
}

interface ProblemSchema {
  allOf: [object, { properties: { code: { enum: string[] } } }];
}

let described: { operations: Operation[]; schemas: DocumentSchemas } | undefined;

/** The operations and schemas of the committed document, prepared once for all test files of a worker. */
const description = () =>
  (described ??= {
    operations: operationsOf(readDocument()),
    schemas: new DocumentSchemas(readDocument()),
  });

/** Forbids additional members in a schema, to detect undocumented ones. */
function close(schema: Schema): void {
  if (schema.type === 'object' && schema.properties && schema.additionalProperties === undefined) {
    schema.additionalProperties = false;
  }
}

function operationsOf(document: OpenAPIObject): Operation[] {
  const { responses: shared = {}, headers = {} } = document.components as {
    responses?: Record<string, DocumentedResponse>;
    headers?: Record<string, { required?: boolean }>;
  };
  const withHeaders = (response: DocumentedResponse): DocumentedResponse => ({
    ...response,
    headers: Object.fromEntries(
      Object.entries(response.headers ?? {}).map(([name, one]) => [
        name,
        one.$ref === undefined ? one : headers[nameOf({ $ref: one.$ref })]!,
      ]),
    ),
  });
  return Object.entries(document.paths)
    .flatMap(([path, methods]) =>
      (Object.entries(methods) as [string, DocumentedOperation][]).map(([method, operation]) => ({
        operationId: operation.operationId,
        method: method.toUpperCase(),
        path,
        pattern: new RegExp(
          `^${path
            .replace(/[.]/g, '\\.')
            .replace(/\{path\}$/, '.*')
            .replace(/\{[^}]+\}/g, '[^/]+')}$`,
        ),
        responses: new Map(
          Object.entries(operation.responses).map(([status, response]) => [
            status,
            '$ref' in response
              ? {
                  response: withHeaders(shared[nameOf(response)]!),
                  pointer: ['components', 'responses', nameOf(response)],
                }
              : { response: withHeaders(response), pointer: ['paths', path, method, 'responses', status] },
          ]),
        ),
      })),
    )
    .sort((a, b) => literals(b.path) - literals(a.path));
}

const nameOf = ({ $ref }: { $ref: string }): string => $ref.slice($ref.lastIndexOf('/') + 1);

/** Paths with more literal text match first: `/records/bulk` before `/records/{id}`, and `{a}..{b}` before `{id}`. */
const literals = (path: string): number => path.replace(/\{[^}]+\}/g, '').length;
