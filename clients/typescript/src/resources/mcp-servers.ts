import type { Pages } from '../api/calls.cjs';
import type { CreateServer, ImportServer, Server, ServerTest, Tool } from '../api/types.cjs';
import { idOrName, isId, type ListOf, Resource } from './resource.js';

/** Registered MCP servers and their tools. */
export class McpServers extends Resource {
  /** Lists the servers of the workspace, newest first. */
  list(filters: ListOf<'listMcpServers'> = {}): Pages<Server> {
    return this.api.listMcpServers({ ...this.workspace, ...filters });
  }

  /** Returns a server by its name or id. Throws 404 if there is none. */
  get(server: string): Promise<Server> {
    return this.api.getMcpServer({ server_id: idOrName(server) });
  }

  /** Registers a server. Throws 409 if the workspace has one of this name. */
  register(name: string, url: string, fields: Omit<CreateServer, 'name' | 'url'> = {}): Promise<Server> {
    return this.api.createMcpServer({ body: { ...fields, name, url } });
  }

  /** Registers a server from its `server.json`, as the public MCP registry has it. */
  import(server: Record<string, unknown>, fields: Omit<ImportServer, 'server'> = {}): Promise<Server> {
    return this.api.importMcpServer({ body: { ...fields, server } });
  }

  /** Connects to a server, and says what works. A server that cannot be reached does not throw: read `ok`. */
  test(server: string): Promise<ServerTest> {
    return this.api.testMcpServer({ server_id: idOrName(server) });
  }

  /** Reads the tools of a server again. */
  refresh(server: string) {
    return this.api.refreshMcpServer({ server_id: idOrName(server) });
  }

  /** Lists the tools of a server. */
  tools(server: string, filters: ListOf<'listMcpTools', 'server_id'> = {}): Pages<Tool> {
    return this.api.listMcpTools({ ...filters, server_id: idOrName(server) });
  }

  /**
   * Runs a tool of a server, with the credentials that the workspace stores for it. A tool that reports a failure does not
   * throw: read `isError`. Throws if the tool or the server cannot be reached.
   */
  async call(server: string, tool: string, args: Record<string, unknown> = {}): Promise<ToolResult> {
    const server_id = isId(server) ? server : (await this.get(server)).server_id;
    const result = await this.callEndpoint('call_mcp_tool', { server_id, tool_name: tool, arguments: args });
    const { is_error, content, structured_content, result_id } = result;
    let { text = null, next_offset } = result;
    while (typeof next_offset === 'number') {
      const part = await this.callEndpoint('read_result', { result_id, offset: next_offset });
      text = `${text ?? ''}${part.text ?? ''}`;
      next_offset = part.next_offset;
    }
    return { isError: is_error, content, structuredContent: structured_content, text };
  }

  /** Calls a tool of the service's own MCP endpoint. */
  private async callEndpoint(name: string, args: Record<string, unknown>): Promise<EndpointResult> {
    const body = { jsonrpc: '2.0' as const, id: 1, method: 'tools/call', params: { name, arguments: args } };
    const accept = { accept: 'application/json, text/event-stream' };
    const answer = (await this.api.runMcpRequest({ body }, { headers: accept })) as EndpointAnswer;
    const { result, error } = answer;
    if (result?.structuredContent) return result.structuredContent;
    throw new Error(result?.content[0]?.text ?? error?.message ?? `${name} returned no result.`);
  }
}

/** What a tool of an MCP server returned. */
export interface ToolResult {
  /** Whether the tool reports that it failed. */
  isError: boolean;
  /** Content blocks. Empty if the result has more than 64 KiB. */
  content: Record<string, unknown>[];
  structuredContent: Record<string, unknown> | null;
  /** The text of a result of more than 64 KiB, otherwise null. */
  text: string | null;
}

interface EndpointResult {
  is_error: boolean;
  content: Record<string, unknown>[];
  structured_content: Record<string, unknown> | null;
  text?: string | null;
  result_id: string | null;
  next_offset?: number | null;
}

interface EndpointAnswer {
  result?: { content: { text?: string }[]; structuredContent?: EndpointResult };
  error?: { message: string };
}
