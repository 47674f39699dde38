import { Injectable } from '@nestjs/common';
import type { Server, ServerOptions, StandardSchemaV1 } from '@modelcontextprotocol/server';
import {
  RESOURCES_DIRECTORY_READ_METHOD,
  SKILLS_EXTENSION_ID,
  SKILLS_GET_METHOD,
  SKILLS_LIST_METHOD,
} from '@modelcontextprotocol/server/ext/skills';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { isJsonObject } from '#platform/json';
import { PromptCatalogue } from '../prompts/prompt-catalogue';
import { ProtocolError, ProtocolErrorCode } from '../protocol-error';
import { ResourceCatalogue } from '../resources/resource-catalogue';
import type { Caller } from '../sessions/caller';
import { ToolCalls } from '../tools/tool-calls';
import { ToolCatalogue } from '../tools/tool-catalogue';
import { EndpointServer, PROTOCOL_VERSIONS } from './endpoint-server';

/** `version` is the label of the API. */
const SERVER_INFO = { name: 'agent-registry-service', title: 'Agent registry', version: 'current' };

/**
 * How long clients may cache results: those that change only with a release or with the caller's roles, and all others.
 * Nothing is shared between callers.
 */
const STABLE = { ttlMs: 60_000, cacheScope: 'private' } as const;
const FRESH = { ttlMs: 0, cacheScope: 'private' } as const;

const OPTIONS: ServerOptions = {
  supportedProtocolVersions: [...PROTOCOL_VERSIONS],
  capabilities: {
    tools: {},
    resources: {},
    prompts: {},
    completions: {},
    extensions: { [SKILLS_EXTENSION_ID]: { directoryRead: true } },
  },
  // shared, because the creation takes a millisecond; not used, because it validates responses of clients, and this
  // server never sends requests to clients
  jsonSchemaValidator: new AjvJsonSchemaValidator(),
  cacheHints: {
    'server/discover': STABLE,
    'tools/list': STABLE,
    'prompts/list': STABLE,
    'resources/templates/list': STABLE,
    'resources/list': FRESH,
    'resources/read': FRESH,
  },
};

/** The era of a request's protocol revision: `modern` for 2026-07-28, `legacy` for earlier ones. */
export type Era = 'modern' | 'legacy';

/**
 * Creates the SDK's server for a request. It is the low-level server, whose lists are created once. The high-level
 * server would create schemas for each request, which takes several times as long.
 */
@Injectable()
export class McpServerFactory {
  constructor(
    private readonly catalogue: ToolCatalogue,
    private readonly calls: ToolCalls,
    private readonly resources: ResourceCatalogue,
    private readonly prompts: PromptCatalogue,
  ) {}

  /* oxlint-disable typescript/no-deprecated -- the SDK deprecates it only for simple servers */
  create(caller: Caller, era: Era): Server {
    const instructions = this.catalogue.instructions(caller.principal);
    const server = new EndpointServer(SERVER_INFO, { ...OPTIONS, instructions });
    this.addTools(server, caller);
    this.addResources(server, caller);
    this.addSkills(server, caller, era);
    this.addPrompts(server, caller);
    return server;
  }

  private addTools(server: Server, caller: Caller): void {
    server.setRequestHandler('tools/list', ({ params }) => {
      checkOnlyPage(params?.cursor);
      return { tools: this.catalogue.list(caller.principal) };
    });
    server.setRequestHandler('tools/call', ({ params }) =>
      this.calls.call(caller, params.name, params.arguments ?? {}),
    );
  }

  private addResources(server: Server, caller: Caller): void {
    server.setRequestHandler('resources/list', ({ params }) => this.resources.list(caller, params?.cursor));
    server.setRequestHandler('resources/templates/list', ({ params }) => {
      checkOnlyPage(params?.cursor);
      return this.resources.templates(caller);
    });
    server.setRequestHandler('resources/read', ({ params }) => this.resources.read(caller, params.uri));
  }

  /** Adds the methods of the extension `io.modelcontextprotocol/skills` (SEP-2640). */
  private addSkills(server: Server, caller: Caller, era: Era): void {
    const cached = era === 'modern' ? FRESH : {};
    server.setRequestHandler(SKILLS_LIST_METHOD, { params: PAGE_PARAMS }, async ({ cursor }) => ({
      ...(await this.resources.listSkills(caller, cursor)),
      ...cached,
    }));
    server.setRequestHandler(SKILLS_GET_METHOD, { params: URI_PARAMS }, async ({ uri }) => ({
      ...(await this.resources.getSkill(caller, uri)),
      ...cached,
    }));
    server.setRequestHandler(RESOURCES_DIRECTORY_READ_METHOD, { params: URI_PARAMS }, async (params) => {
      return { ...(await this.resources.readDirectory(caller, params.uri, params.cursor)), ...cached };
    });
  }

  private addPrompts(server: Server, caller: Caller): void {
    server.setRequestHandler('prompts/list', ({ params }) => {
      checkOnlyPage(params?.cursor);
      return this.prompts.list(caller);
    });
    server.setRequestHandler('prompts/get', ({ params }) =>
      this.prompts.get(caller, params.name, params.arguments ?? {}),
    );
    server.setRequestHandler('completion/complete', ({ params: { ref, argument } }) => {
      if (ref.type === 'ref/prompt') {
        return this.prompts.complete(caller, ref.name, argument.name, argument.value);
      }
      return { completion: { values: [] } };
    });
  }
  /* oxlint-enable typescript/no-deprecated */
}

/** Rejects all cursors of a list with a single page, because such a list never returns one. */
function checkOnlyPage(cursor: string | undefined): void {
  if (cursor === undefined) return;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown cursor. This list has one page.');
}

/** Returns a schema of parameters that are strings. */
const textParams = <Params>(
  required: readonly string[],
  optional: readonly string[],
): StandardSchemaV1<Params> => ({
  '~standard': {
    version: 1,
    vendor: 'agent-registry-service',
    validate: (value) => {
      const params = isJsonObject(value) ? value : {};
      const isText = (name: string): boolean => typeof params[name] === 'string';
      const invalid =
        required.find((name) => !isText(name)) ??
        optional.find((name) => params[name] !== undefined && !isText(name));
      return invalid === undefined
        ? { value: params as Params }
        : { issues: [{ message: `${invalid} must be a string` }] };
    },
  },
});

const PAGE_PARAMS = textParams<{ cursor?: string }>([], ['cursor']);
const URI_PARAMS = textParams<{ uri: string; cursor?: string }>(['uri'], ['cursor']);
