import type { StandardSchemaV1 } from '@modelcontextprotocol/client';
import { Injectable } from '@nestjs/common';
import { ArrayMaxSize, IsArray } from 'class-validator';
import { ItemsOf, JsonBodies } from '#platform/http';
import { isJsonObject } from '#platform/json';
import { Problem } from '#platform/problem';
import { toolFaults } from '../servers/tool-faults';
import { DeclaredToolDto, LISTED_TOOLS_MAX } from '../servers/tool.dto';
import { type McpSession, requestOptions } from './mcp-session';
import type { ConnectionTarget } from './server-credentials';
import { excerptOf, ServerFailure } from './server-failure';

/** The maximum number of pages to read, because pages may be empty. */
const PAGES_MAX = 1_000;

/** A page of `tools/list`, whose tools are validated later. */
interface ToolsPage {
  tools: unknown[];
  nextCursor?: string | null;
}

/** Checks only the form of the page, because the SDK would check every tool on the event loop. */
const PAGE: StandardSchemaV1<unknown, ToolsPage> = {
  '~standard': {
    version: 1,
    vendor: 'registry',
    validate: (value) => (isPage(value) ? { value } : { issues: [{ message: 'is not a page of tools' }] }),
  },
};

const isPage = (value: unknown): value is ToolsPage =>
  isJsonObject(value) &&
  Array.isArray(value.tools) &&
  (value.nextCursor === undefined || value.nextCursor === null || typeof value.nextCursor === 'string');

/** The members of a tool that are stored. */
const MEMBERS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** The tools of a server in the form of a request body, so that they are validated by the same rules. */
class ListedToolsDto {
  @IsArray()
  @ArrayMaxSize(LISTED_TOOLS_MAX)
  @ItemsOf(() => DeclaredToolDto)
  tools!: unknown[];
}

/** Reads the complete list of a server's tools. */
@Injectable()
export class ToolLister {
  constructor(private readonly bodies: JsonBodies) {}

  /**
   * Returns the tools of all pages. An empty string is a valid cursor.
   *
   * @throws ServerFailure for an endless list, for more than 10,000 tools or 1,000 pages, and for tools that cannot be stored
   */
  async list(session: McpSession, server: ConnectionTarget): Promise<DeclaredToolDto[]> {
    // A server without the capability offers no tools.
    if (!session.client.getServerCapabilities()?.tools) return [];
    const tools: unknown[] = [];
    const seen = new Set<string>();
    let cursor: string | undefined;
    for (;;) {
      const page = await this.page(session, cursor);
      if (tools.length + page.tools.length > LISTED_TOOLS_MAX) {
        throw invalid(`it has more than ${LISTED_TOOLS_MAX} tools`);
      }
      for (const tool of await this.read(session, server, page.tools)) tools.push(tool);
      if (page.nextCursor == null) break;
      cursor = page.nextCursor;
      if (seen.has(cursor)) throw invalid('it repeats a cursor, so it would never end');
      seen.add(cursor);
      if (seen.size >= PAGES_MAX) throw invalid(`it has more than ${PAGES_MAX} pages`);
    }
    const [fault] = toolFaults(tools, '');
    if (fault) throw invalid(describe(fault as { pointer: string; detail: string }, tools));
    return tools as DeclaredToolDto[];
  }

  private async page(session: McpSession, cursor: string | undefined): Promise<ToolsPage> {
    const params = cursor === undefined ? {} : { params: { cursor } };
    return session.client.request({ method: 'tools/list', ...params }, PAGE, requestOptions(session));
  }

  /** Returns the stored members of tools. Checks them like a request body: depth, NUL characters, lone surrogates. */
  private async read(
    { signal }: McpSession,
    server: ConnectionTarget,
    listed: readonly unknown[],
  ): Promise<unknown[]> {
    const owner = { orgId: server.org_id, workspaceId: server.workspace_id };
    const bytes = Buffer.from(JSON.stringify({ tools: listed.map(storedMembers) }));
    try {
      const { tools } = (await this.bodies.parse(owner, signal, bytes, ListedToolsDto)) as ListedToolsDto;
      return tools;
    } catch (error) {
      // The SDK has parsed the JSON, so these are values that cannot be stored.
      if (!(error instanceof Problem) || error.status >= 500) throw error;
      throw invalid(error.detail);
    }
  }
}

/** Returns the stored members of a tool. Drops null members, which the protocol does not allow but some servers send. */
function storedMembers(tool: unknown): unknown {
  if (!isJsonObject(tool)) return tool;
  return Object.fromEntries(MEMBERS.flatMap((name) => (tool[name] == null ? [] : [[name, tool[name]]])));
}

/** Returns a fault with the name of its tool. */
function describe(
  { pointer, detail }: { pointer: string; detail: string },
  tools: readonly unknown[],
): string {
  const [, index, member = ''] = pointer.split('/');
  const { name } = (tools[Number(index)] ?? {}) as { name?: unknown };
  const named =
    typeof name === 'string' && name !== '' ? `the tool ${excerptOf(name)}` : `its tool ${Number(index) + 1}`;
  return `${named}${member === '' ? '' : `: ${member.replace('input_schema', 'inputSchema')}`} ${detail}`;
}

const invalid = (reason: string): ServerFailure =>
  new ServerFailure('protocol', `The tool list of the server cannot be used: ${reason}.`);
