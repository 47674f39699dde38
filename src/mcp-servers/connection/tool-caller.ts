import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database } from '#platform/db';
import { Problem, problem } from '#platform/problem';
import { checkLive } from '../../resources';
import { ServerRepository } from '../servers/server.repository';
import { type CalledTool, ToolRepository } from '../servers/tool.repository';
import { requestOptions } from './mcp-session';
import { ServerConnections } from './server-connections';
import { callProblemOf, excerptOf } from './server-failure';

/** A call of a registered server's tool. */
export interface ToolCall {
  server_id: string;
  tool_name: string;
  arguments: Record<string, unknown>;
}

/** The result of a call, as the server sent it (`CallToolResult` of the Model Context Protocol). */
export interface ToolCallResult {
  content: unknown[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/** Runs tools of registered servers. */
@Injectable()
export class ToolCaller {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly tools: ToolRepository,
    private readonly connections: ServerConnections,
  ) {}

  /**
   * Runs a tool. The caller has checked the role. An error of the tool itself is a result with `isError`.
   *
   * Errors: 404 for an unknown server or tool and for an archived tool; 409 for an archived server; 400 if the server rejects the arguments; 504 if it is
   * too slow; 503 if it cannot be used for another reason, including other protocol errors and requests for further input.
   */
  async call(scope: Scope, call: ToolCall, signal: AbortSignal): Promise<ToolCallResult> {
    const server = await this.servers.find(scope, call.server_id);
    if (server?.workspace_id !== scope.workspaceId) throw problem.notFound('server', call.server_id);
    checkLive(server, 'server');
    const [tool] = await this.tools.findCalled(this.database, scope, call);
    if (!tool) throw problem.notFound('tool', call.tool_name);
    if (tool.archived_at) throw archivedTool(tool, call);
    try {
      const result = await this.connections.run(server, 'call', signal, (session) =>
        session.client.callTool(
          { name: tool.name, arguments: call.arguments },
          // Tells the SDK which arguments to send as headers. Omits the output schema, because the SDK would compile it.
          { ...requestOptions(session), toolDefinition: definitionOf(tool.name, tool.input_schema.parse()) },
        ),
      );
      return tool.has_output_schema
        ? withStructureNote(result as ToolCallResult)
        : (result as ToolCallResult);
    } catch (error) {
      throw callProblemOf(error, server.name);
    }
  }
}

const archivedTool = ({ name, archived_at }: CalledTool, { server_id }: ToolCall): Problem =>
  new Problem(
    'not_found',
    `The tool ${excerptOf(name)} is archived since ${archived_at!.toISOString()}: its server no longer lists it, or lists it in a form that cannot be used. POST /mcp/v1/servers/${server_id}/test names the reason.`,
  );

/** Says in the content that the structured content is missing. The SDK's client would throw instead. */
function withStructureNote(result: ToolCallResult): ToolCallResult {
  if (result.structuredContent !== undefined || result.isError === true) return result;
  return { ...result, content: [...result.content, { type: 'text', text: STRUCTURE_NOTE }] };
}

const STRUCTURE_NOTE =
  'Note: the tool declares an output schema, but its server sent no structured content. Use the content above.';

const definitionOf = (name: string, inputSchema: unknown) => ({
  name,
  inputSchema: { ...(inputSchema as object), type: 'object' as const },
});
