import type { StandardSchemaV1 } from '@modelcontextprotocol/client';
import { Injectable } from '@nestjs/common';
import { TimeSlice } from '#platform/concurrency';
import { isJsonObject, JsonInputError, parseJson } from '#platform/json';
import { schemaShapeFault } from '#platform/json-schema';
import { memberFaults, REPEATED_NAME, type SkippedTool, toolNameFault } from '../servers/tool-faults';
import { DeclaredToolDto, LISTED_TOOLS_MAX } from '../servers/tool.dto';
import { LISTED_TOOLS, type McpSession, requestOptions } from './mcp-session';
import { excerptOf, ServerFailure } from './server-failure';

/** The maximum number of pages to read, because pages may be empty. */
const PAGES_MAX = 1_000;

/** The JSON-RPC error of an unknown method. */
const METHOD_NOT_FOUND = -32_601;

/** A page of `tools/list`, whose tools are validated later. */
interface ToolsPage {
  [LISTED_TOOLS]: unknown[];
  nextCursor?: string;
}

/** Checks only the form of the page. */
const PAGE: StandardSchemaV1<unknown, ToolsPage> = {
  '~standard': {
    version: 1,
    vendor: 'registry',
    validate: (value) => (isPage(value) ? { value } : { issues: [{ message: 'is not a page of tools' }] }),
  },
};

const isPage = (value: unknown): value is ToolsPage =>
  isJsonObject(value) &&
  LISTED_TOOLS in value &&
  (value.nextCursor === undefined || typeof value.nextCursor === 'string');

/** The members of a tool that are stored. */
const MEMBERS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** The complete list of a server's tools. */
export interface ToolListing {
  tools: DeclaredToolDto[];
  /** The tools that are left out, each with its reason. */
  skipped: SkippedTool[];
}

/** Reads the complete list of a server's tools. */
@Injectable()
export class ToolLister {
  /**
   * Returns the tools of all pages. An empty string is a valid cursor.
   *
   * @throws ServerFailure for an endless list, and for more than 10,000 tools or 1,000 pages
   */
  async list(session: McpSession): Promise<ToolListing> {
    const listing = new ListingReader();
    const seen = new Set<string>();
    let cursor: string | undefined;
    for (;;) {
      const page = await this.page(session, cursor);
      await listing.read(page[LISTED_TOOLS]);
      if (page.nextCursor === undefined) return listing;
      cursor = page.nextCursor;
      if (seen.has(cursor)) throw invalid('it repeats a cursor, so it would never end');
      seen.add(cursor);
      if (seen.size >= PAGES_MAX) throw invalid(`it has more than ${PAGES_MAX} pages`);
    }
  }

  private async page(session: McpSession, cursor: string | undefined): Promise<ToolsPage> {
    const params = cursor === undefined ? {} : { params: { cursor } };
    const page = session.client.request({ method: 'tools/list', ...params }, PAGE, requestOptions(session));
    // Some servers have tools without the capability. The others do not know the method.
    if (session.client.getServerCapabilities()?.tools || cursor !== undefined) return page;
    return page.catch((error: unknown) => {
      if (isUnknownMethod(error)) return { [LISTED_TOOLS]: [] };
      throw error;
    });
  }
}

/** Returns whether a server does not know the method. Servers of 2026-07-28 send the JSON-RPC error with HTTP 404. */
function isUnknownMethod(error: unknown): boolean {
  const { code, data } = error as { code?: unknown; data?: { text?: unknown } | null };
  if (typeof data?.text !== 'string') return code === METHOD_NOT_FOUND;
  try {
    const body = JSON.parse(data.text) as { error?: { code?: unknown } | null } | null;
    return body?.error?.code === METHOD_NOT_FOUND;
  } catch {
    return false;
  }
}

/** Collects the tools of the pages. */
class ListingReader implements ToolListing {
  readonly tools: DeclaredToolDto[] = [];
  readonly skipped: SkippedTool[] = [];
  private readonly names = new Set<string>();
  private count = 0;

  async read(page: readonly unknown[]): Promise<void> {
    if (this.count + page.length > LISTED_TOOLS_MAX) {
      throw invalid(`it has more than ${LISTED_TOOLS_MAX} tools`);
    }
    const slice = new TimeSlice();
    for (const tool of page) {
      if (slice.isOver()) await slice.yield();
      this.count += 1;
      this.add(tool);
    }
  }

  private add(listed: unknown): void {
    const place = `#${this.count}`;
    if (!isJsonObject(listed)) return this.skip(place, 'must be an object');
    const name = listed['name'] as string;
    const unnamed = toolNameFault(name);
    if (unnamed !== null) return this.skip(place, `name ${unnamed}`);
    const tool = toolOf(listed);
    const reason = this.faultOf(name, tool, listed['inputSchema']);
    if (reason !== null) return this.skip(name, reason);
    this.names.add(name);
    this.tools.push(tool as unknown as DeclaredToolDto);
  }

  private skip(name: string, reason: string): void {
    this.skipped.push({ name, reason });
  }

  private faultOf(name: string, tool: Record<string, unknown> | JsonInputError, schema: unknown) {
    if (tool instanceof JsonInputError) return `${excerptOf(tool.pointer.slice(1))}: ${tool.detail}`;
    const [fault] = memberFaults(tool);
    if (fault) return fault.join(' ').replace('input_schema', 'inputSchema');
    return this.names.has(name) ? `name ${REPEATED_NAME}` : schemaReason(schema);
  }
}

/** Returns the stored members of a tool. Checks them like a request body: depth, lone surrogates. */
function toolOf(listed: Record<string, unknown>): Record<string, unknown> | JsonInputError {
  const stored = Object.fromEntries(
    MEMBERS.flatMap((name) => (listed[name] === undefined ? [] : [[name, listed[name]]])),
  );
  try {
    return parseJson(Buffer.from(JSON.stringify(stored))) as Record<string, unknown>;
  } catch (error) {
    // The SDK has parsed the JSON, so this is a value that cannot be stored.
    if (error instanceof JsonInputError) return error;
    throw error;
  }
}

/** Returns why no client can use a schema of arguments, or null. */
function schemaReason(schema: unknown): string | null {
  const { type } = schema as { type?: unknown };
  if (type != null && type !== 'object') return 'inputSchema/type must be "object"';
  const fault = schemaShapeFault(schema);
  return fault && `${excerptOf(`inputSchema${fault.pointer}`)} ${fault.detail}`;
}

const invalid = (reason: string): ServerFailure =>
  new ServerFailure('protocol', `The tool list of the server cannot be used: ${reason}.`);
