import type { ACCESS_EXTENSION, AccessRule } from '#platform/auth';
import type {
  BODIES_EXTENSION,
  BODY_EXTENSION,
  BodyTraits,
  LIMIT_EXTENSION,
  NOT_REPEATABLE_EXTENSION,
  SCHEMAS_EXTENSION,
} from '#platform/http';

/** The parts of a document that are completed. The generator's own types leave most of them untyped. */
export interface Operation {
  summary?: string;
  description?: string;
  operationId?: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema?: Schema; examples?: object }> };
  security?: object[];
  responses: Record<string, Response | { $ref: string }>;
  [NOT_REPEATABLE_EXTENSION]?: boolean;
  [BODIES_EXTENSION]?: Record<string, object>;
  [SCHEMAS_EXTENSION]?: Record<string, Schema>;
  [ACCESS_EXTENSION]?: AccessRule;
  [LIMIT_EXTENSION]?: number;
  [BODY_EXTENSION]?: BodyTraits;
}

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
}

export interface Response {
  description?: string;
  headers?: Record<string, object>;
  content?: Record<string, { schema: object }>;
}

export interface Schema {
  description?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: unknown;
  $ref?: string;
  readOnly?: boolean;
  enum?: unknown[];
  items?: Schema;
  pattern?: string;
  default?: unknown;
  format?: string;
  contentMediaType?: string;
  minimum?: number;
  exclusiveMinimum?: number;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
}

export type Method = 'get' | 'head' | 'post' | 'put' | 'patch' | 'delete' | 'options';
export type Paths = Record<string, Partial<Record<Method, Operation>>>;

/** The parts of the components. */
export interface Components {
  schemas?: Record<string, Schema>;
  responses?: Record<string, Response>;
  parameters?: Record<string, Parameter>;
  headers?: Record<string, object>;
}

export interface Document {
  info: Record<string, unknown>;
  jsonSchemaDialect?: string;
  security?: object[];
  tags?: { name: string; description?: string }[];
  paths: Paths;
  components: Components;
}

/** Returns every operation of a document. */
export const operationsOf = ({ paths }: Pick<Document, 'paths'>): Operation[] =>
  Object.values(paths).flatMap((methods) => Object.values(methods));
