import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JsonThreadsModule } from '#platform/json-threads';
import { OutboundModule } from '#platform/outbound';
import { SecretsModule } from '#platform/secrets';
import { ResourcesModule } from '../resources';
import { OAuthTokens } from './connection/oauth-tokens';
import { ToolCaller } from './connection/tool-caller';
import { ServerReconcileStep } from './reconcile/server-reconcile.step';
import { ServerDirectory } from './servers/server-directory';
import { ServerPackager } from './servers/server.packager';
import { ServerSecrets } from './servers/server-secrets';
import { ServerEntity } from './servers/server.entity';
import { ServerRepository } from './servers/server.repository';
import { ServerService } from './servers/server.service';
import { ToolStore } from './servers/tool-store';
import { ToolEntity } from './servers/tool.entity';
import { ToolRepository } from './servers/tool.repository';

/** MCP servers and their tools, without routes: for the API and the worker. */
@Module({
  imports: [
    TypeOrmModule.forFeature([ServerEntity, ToolEntity]),
    JsonThreadsModule,
    OutboundModule,
    SecretsModule,
    ResourcesModule,
  ],
  providers: [
    ServerService,
    ServerRepository,
    ServerSecrets,
    ToolRepository,
    ToolStore,
    ServerDirectory,
    ServerPackager,
    ServerReconcileStep,
    OAuthTokens,
    ToolCaller,
  ],
  exports: [ServerService, ServerDirectory, ToolCaller, ToolStore],
})
export class McpServersModule {}
