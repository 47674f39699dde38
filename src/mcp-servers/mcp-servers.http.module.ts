import { Module } from '@nestjs/common';
import { McpServersModule } from './mcp-servers.module';
import {
  FrozenRegistryListingController,
  RegistryListingController,
} from './registry/registry-listing.controller';
import { ServerImportController } from './servers/import/server-import.controller';
import { CheckController } from './servers/checks/check.controller';
import { ServerController } from './servers/server.controller';
import { ToolController } from './servers/tool.controller';
import { ToolVersionController } from './servers/tool-version.controller';

/** The routes under /mcp/v1. */
@Module({
  imports: [McpServersModule],
  controllers: [
    ServerController,
    ServerImportController,
    CheckController,
    ToolController,
    ToolVersionController,
    RegistryListingController,
    FrozenRegistryListingController,
  ],
})
export class McpServersHttpModule {}
