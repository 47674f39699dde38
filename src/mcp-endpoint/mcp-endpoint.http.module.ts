import { Module } from '@nestjs/common';
import { JsonBodiesModule } from '#platform/http';
import { SecretsModule } from '#platform/secrets';
import { RegistryModule, SearchModule } from '../registry';
import { ResourcesModule } from '../resources';
import { SessionHandles } from './sessions/session-handle';
import { SessionService } from './sessions/session.service';
import { SearchTools } from './tools/search.tools';
import { ToolCalls } from './tools/tool-calls';
import { ToolCatalogue } from './tools/tool-catalogue';
import { McpServerFactory } from './transport/mcp-server.factory';
import { McpTransport } from './transport/mcp-transport';
import { McpController } from './transport/mcp.controller';

/** The MCP endpoint under /mcp. */
@Module({
  imports: [JsonBodiesModule, SecretsModule, RegistryModule, SearchModule, ResourcesModule],
  controllers: [McpController],
  providers: [
    SessionHandles,
    SessionService,
    SearchTools,
    ToolCalls,
    ToolCatalogue,
    McpServerFactory,
    McpTransport,
  ],
})
export class McpEndpointHttpModule {}
