import type { ContentBlock } from '@modelcontextprotocol/server';
import type { Area, Role, Scope } from '#platform/auth';
import { type CompiledSchema, compileJsonSchema } from '#platform/json-schema';
import { problem } from '#platform/problem';
import type { Caller } from '../sessions/caller';

/** A JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export const STRING = { type: 'string' } satisfies JsonSchema;
export const STRING_OR_NULL = { type: ['string', 'null'] } satisfies JsonSchema;
export const INTEGER = { type: 'integer' } satisfies JsonSchema;
export const ID = { type: 'string', minLength: 1, maxLength: 255 } satisfies JsonSchema;
export const VERSION_INPUT = {
  type: 'integer',
  minimum: 1,
  maximum: 2 ** 31 - 1,
  description: 'Default: the newest version.',
} satisfies JsonSchema;

/** Hints for clients, see `ToolAnnotations` of the Model Context Protocol. */
export interface ToolHints {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** A tool as `tools/list` shows it. */
export interface ListedTool {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object' } & JsonSchema;
  outputSchema: { type: 'object' } & JsonSchema;
  annotations: ToolHints;
}

/** Validated arguments. */
export type Arguments = Record<string, unknown>;

/** A call whose workspace is entered and whose arguments are valid. */
export interface ToolCall<Args extends object = Arguments> {
  readonly caller: Caller;
  readonly scope: Scope;
  readonly args: Args;
}

/** A result with content in addition to its view. */
export class ToolReply {
  constructor(
    readonly view: object,
    /** Further content, after the view. */
    readonly media: readonly ContentBlock[],
    readonly isError: boolean,
  ) {}
}

/** What the audit log records of a call. */
export interface AuditedCall {
  /** The id of the resource. */
  id: string;
  changes: Record<string, unknown>;
}

/** A tool of the endpoint. */
export interface EndpointTool {
  readonly listed: ListedTool;
  /** The caller needs one of these roles in the workspace, as for the corresponding operation of the API. */
  readonly anyOf: readonly [Role, ...Role[]];
  /** The areas of keys that open the tool. */
  readonly areas: readonly Area[];
  /** Whether the tool changes something. It is then refused in an archived workspace. */
  readonly isWrite: boolean;
  /** Returns what the audit log records. Default: the name of the tool. */
  readonly audited?: (call: ToolCall) => Promise<AuditedCall>;
  /** Throws the problem of a call that the caller's key does not allow. */
  readonly check?: (call: ToolCall) => Promise<void>;
  readonly run: (call: ToolCall) => Promise<object>;
}

/** The declaration of a tool. */
export interface ToolDeclaration<Args extends object> {
  name: string;
  title: string;
  /** Written for models: what the tool does, when to use it, and what to call next. */
  description: string;
  /** The arguments in addition to those that name the workspace. */
  input?: Record<string, JsonSchema>;
  required?: readonly (keyof Args & string)[];
  output: Record<string, JsonSchema>;
  anyOf: readonly [Role, ...Role[]];
  /** The areas of keys that open the tool. Default: `read` if it only reads, otherwise none. */
  areas?: readonly Area[];
  /** Default: it only reads. */
  hints?: Partial<ToolHints>;
  audited?: (call: ToolCall<Args>) => Promise<AuditedCall>;
  check?: (call: ToolCall<Args>) => Promise<void>;
  run: (call: ToolCall<Args>) => Promise<object>;
}

/** The hints of a tool that only reads. */
export const READS: ToolHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** The arguments of every tool that name the workspace. */
export const WORKSPACE_INPUT = {
  session_handle: {
    type: 'string',
    maxLength: 1024,
    description: 'The session_handle from mcp__initialise. It selects the workspace.',
  },
  workspace_id: {
    type: 'string',
    maxLength: 255,
    description: 'The workspace, instead of session_handle.',
  },
} satisfies Record<string, JsonSchema>;

/** Returns the schema of an object with exactly these members. */
export const objectOf = (
  properties: Record<string, JsonSchema>,
  required: readonly string[] = Object.keys(properties),
): { type: 'object' } & JsonSchema => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
  additionalProperties: false,
});

/** Creates a tool. */
export function tool<Args extends object = Arguments>(declared: ToolDeclaration<Args>): EndpointTool {
  const { name, title, description, input = {}, required = [], output } = declared;
  const annotations = { ...READS, ...declared.hints };
  return {
    listed: {
      name,
      title,
      description,
      inputSchema: objectOf({ ...input, ...WORKSPACE_INPUT }, required),
      outputSchema: objectOf(output),
      annotations,
    },
    anyOf: declared.anyOf,
    areas: declared.areas ?? (annotations.readOnlyHint ? ['read'] : []),
    isWrite: !annotations.readOnlyHint,
    audited: declared.audited as unknown as EndpointTool['audited'],
    check: declared.check as unknown as EndpointTool['check'],
    run: declared.run as unknown as EndpointTool['run'],
  };
}

/** The maximum number of faults in an error, and the maximum length of their pointers, in characters. */
const FAULTS_MAX = 20;
const POINTER_MAX = 200;

/** Validates the arguments of tools. A schema is compiled on the first call of its tool. */
export class ArgumentSchemas {
  private readonly compiled = new Map<string, CompiledSchema>();

  /** Validates arguments. Errors: 400 that names each invalid argument and its rule. */
  check({ name, inputSchema }: ListedTool, args: Arguments): void {
    let schema = this.compiled.get(name);
    if (!schema) this.compiled.set(name, (schema = compileJsonSchema(inputSchema)));
    const faults = schema.validate(args);
    if (faults.length === 0) return;
    const argumentNames = Object.keys(inputSchema.properties as object);
    throw problem.invalidFields(
      faults.slice(0, FAULTS_MAX).map(({ pointer, detail }) => {
        const unknown = pointer.slice(1);
        const isArgument = unknown === '' || unknown.includes('/') || argumentNames.includes(unknown);
        return {
          pointer: pointer.slice(0, POINTER_MAX),
          detail: isArgument
            ? detail
            : `is not an argument of ${name}. Its arguments are: ${argumentNames.join(', ')}`,
        };
      }),
    );
  }
}
