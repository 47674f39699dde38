export { ToolCaller, type ToolCall, type ToolCallResult } from './connection/tool-caller';
export { McpServersHttpModule } from './mcp-servers.http.module';
export { McpServersModule } from './mcp-servers.module';
export { McpServersWorkerModule } from './mcp-servers.worker.module';
export { ServerDirectory } from './servers/server-directory';
export type { GivenToolDto } from './servers/tool.dto';
export { type ToolChanges, ToolStore } from './servers/tool-store';
