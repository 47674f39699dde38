import { Module } from '@nestjs/common';
import { McpServersModule } from './mcp-servers.module';
import { CheckController } from './checks/check.controller';
import { ServerController } from './servers/server.controller';
import { ToolController } from './servers/tool.controller';

/** The routes under /mcp/v1. */
@Module({ imports: [McpServersModule], controllers: [ServerController, CheckController, ToolController] })
export class McpServersHttpModule {}
