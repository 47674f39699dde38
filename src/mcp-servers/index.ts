export { McpServersHttpModule } from './mcp-servers.http.module';
export { McpServersModule } from './mcp-servers.module';
export { ServerDirectory, type ToolReference } from './server-directory';
export type { GivenToolDto } from './tools/given-tool.dto';
export { type Listing, type ToolChanges, type ToolOwner, ToolStore } from './tools/tool-store';
