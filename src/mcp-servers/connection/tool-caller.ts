import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';

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
  /** Errors: 403, 404 for an unknown server or tool, 409 for an archived server, 503 or 504 if the server cannot be used. */
  call(_scope: Scope, _call: ToolCall, _signal: AbortSignal): Promise<ToolCallResult> {
    throw problem.unavailable('The MCP server cannot be used.');
  }
}
