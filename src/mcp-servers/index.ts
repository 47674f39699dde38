export { ToolCaller, type ToolCall, type ToolCallResult } from './connection/tool-caller';
export { McpServersHttpModule } from './mcp-servers.http.module';
export { McpServersModule } from './mcp-servers.module';
export { ServerListQueryDto } from './servers/server.dto';
export { ServerDirectory } from './servers/server-directory';
export { ServerService } from './servers/server.service';
export { type GivenToolDto, type ToolDto, ToolListQueryDto } from './servers/tool.dto';
export { type ToolChanges, ToolStore } from './servers/tool-store';
