import { Injectable } from '@nestjs/common';
import { mayRead } from '#platform/auth';
import { toJsonText } from '#platform/json';
import { problem } from '#platform/problem';
import {
  HEALTH_STATUSES,
  ServerListQueryDto,
  ServerService,
  type ToolDto,
  ToolListQueryDto,
} from '../../mcp-servers';
import { pick } from '../../resources';
import { AllowedTools } from './allowed-tools';
import {
  itemOf,
  LIST_INPUT,
  type ListArguments,
  listOutput,
  listResult,
  listTool,
  membersOf,
  pageQuery,
} from './lists';
import { TEXT_PAGE_BYTES } from './text-pages';
import { ID, STRING, STRING_OR_NULL, tool, type ToolCall } from './tool';

const TOOL = {
  tool_id: STRING,
  server_id: STRING,
  name: STRING,
  title: STRING_OR_NULL,
  description: STRING_OR_NULL,
};

const SERVER = {
  server_id: STRING,
  name: STRING,
  description: STRING_OR_NULL,
  health: { enum: HEALTH_STATUSES, description: 'The result of the last check. unknown: not checked yet.' },
};

/** The arguments that name a tool: its id, or its server and its name. */
export interface ToolNaming {
  tool_id?: string;
  server_id?: string;
  tool_name?: string;
}

export const TOOL_NAMING_INPUT = {
  tool_id: { ...ID, description: 'From list_mcp_tools or search_registry.' },
  server_id: {
    ...ID,
    description: 'With tool_name, instead of tool_id. From get_agent or list_mcp_servers.',
  },
  tool_name: { ...ID, description: 'The name of the tool on its server.' },
};

/** Returns the tool that a call names. Errors: 400, 404. */
export function namedTool(
  servers: ServerService,
  { scope, args: { tool_id, server_id, tool_name } }: ToolCall<ToolNaming>,
): Promise<ToolDto> {
  if (tool_id !== undefined && server_id === undefined && tool_name === undefined) {
    return servers.findTool(scope, tool_id);
  }
  if (tool_id === undefined && server_id !== undefined && tool_name !== undefined) {
    return servers.findNamedTool(scope, server_id, tool_name);
  }
  throw problem.invalidRequest('Name the tool by tool_id, or by server_id and tool_name.');
}

/** The tools that read registered MCP servers and their tools. */
@Injectable()
export class McpServerTools {
  constructor(
    private readonly servers: ServerService,
    private readonly allowed: AllowedTools,
  ) {}

  readonly tools = [
    listTool({
      name: 'list_mcp_servers',
      title: 'List MCP servers',
      description:
        'Lists the MCP servers that are registered in the workspace, newest first. Use it to see which outside systems (integrations, connectors) you can reach. Then call list_mcp_tools with a server_id.',
      anyOf: ['viewer', 'runtime'],
      areas: ['read', 'tools'],
      item: SERVER,
      query: ServerListQueryDto,
      list: async ({ scope }, query) => {
        const own = { ...query, workspace_id: scope.workspaceId };
        const { items, page } = await this.servers.listAmong(scope, own, await this.allowed.serversOf(scope));
        return { items: items.map((one) => ({ ...one, health: one.health.status })), page };
      },
    }),
    tool<ListArguments & { server_id: string }>({
      name: 'list_mcp_tools',
      title: 'List the tools of an MCP server',
      description:
        'Lists the tools of a registered MCP server by name, with what each one does. Then call get_mcp_tool for the arguments of one, and call_mcp_tool to run it.',
      input: { server_id: { ...ID, description: 'From list_mcp_servers or get_agent.' }, ...LIST_INPUT },
      required: ['server_id'],
      output: listOutput(TOOL),
      anyOf: ['viewer', 'runtime'],
      areas: ['read', 'tools'],
      run: async ({ scope, args: { server_id, ...page } }) => {
        const query = pageQuery(ToolListQueryDto, page);
        const names = await this.allowed.toolsOf(scope, server_id);
        return listResult(await this.servers.listTools(scope, server_id, query, names), TOOL);
      },
    }),
    tool<ToolNaming>({
      name: 'get_mcp_tool',
      title: 'Get a tool of an MCP server',
      description:
        'Returns a tool of a registered MCP server with the JSON Schema of its arguments (parameters). Name it by tool_id, or by server_id and tool_name. Use it before call_mcp_tool, so that you send the right arguments.',
      input: TOOL_NAMING_INPUT,
      output: {
        ...TOOL,
        input_schema: {
          type: ['object', 'null'],
          description: 'The JSON Schema of the arguments. Null if is_truncated.',
        },
        annotations: {
          type: ['object', 'null'],
          description: 'The hints of the server about the effects of the tool.',
        },
        is_archived: { type: 'boolean', description: 'Whether the server no longer offers the tool.' },
        is_truncated: { type: 'boolean', description: 'Whether the tool is too large for one result.' },
        content_url: {
          ...STRING_OR_NULL,
          description: 'If is_truncated: the path of the complete tool, relative to the base URL.',
        },
      },
      anyOf: ['viewer', 'runtime'],
      areas: ['read', 'tools'],
      run: async (call) => {
        const storedTool = await namedTool(this.servers, call);
        const { tool_id, server_id } = storedTool;
        if (!mayRead(call.scope)) await this.allowed.check(call.scope, server_id, storedTool.name);
        const whole = {
          ...membersOf(storedTool, TOOL),
          ...pick(storedTool, ['input_schema', 'annotations']),
        };
        const is_archived = storedTool.archived_at !== null;
        if (Buffer.byteLength(toJsonText(whole)) <= TEXT_PAGE_BYTES) {
          return { ...whole, is_archived, is_truncated: false, content_url: null };
        }
        return {
          ...itemOf(storedTool, TOOL),
          ...{ input_schema: null, annotations: null, is_archived, is_truncated: true },
          content_url: `/mcp/v1/servers/${server_id}/tools/${tool_id}`,
        };
      },
    }),
  ];
}
