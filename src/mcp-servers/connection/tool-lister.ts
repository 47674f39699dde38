import type { StandardSchemaV1 } from '@modelcontextprotocol/client';
import { Injectable } from '@nestjs/common';
import { TimeSlice } from '#platform/concurrency';
import { isJsonObject, JsonInputError, parseJson } from '#platform/json';
import { toolFaults } from '../servers/tool-faults';
import { DeclaredToolDto, LISTED_TOOLS_MAX } from '../servers/tool.dto';
import { type McpSession, requestOptions } from './mcp-session';
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

/** Reads the complete list of a server's tools. */
@Injectable()
export class ToolLister {
  /**
   * Returns the tools of all pages. An empty string is a valid cursor.
   *
   * @throws ServerFailure for an endless list, for more than 10,000 tools or 1,000 pages, and for tools that cannot be stored
   */
  async list(session: McpSession): Promise<DeclaredToolDto[]> {
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
      for (const tool of await read(page.tools)) tools.push(tool);
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
}

/** Returns the stored members of tools. Checks them like a request body: depth, lone surrogates. */
async function read(listed: readonly unknown[]): Promise<unknown[]> {
  const slice = new TimeSlice();
  const tools: unknown[] = [];
  for (const tool of listed) {
    if (slice.isOver()) await slice.yield();
    try {
      tools.push(parseJson(Buffer.from(JSON.stringify(storedMembers(tool)))));
    } catch (error) {
      // The SDK has parsed the JSON, so this is a value that cannot be stored.
      throw error instanceof JsonInputError ? invalid(error.detail) : error;
    }
  }
  return tools;
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
