import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { MetricsModule } from '#platform/metrics';
import { OutboundModule } from '#platform/outbound';
import { SecretsModule } from '#platform/secrets';
import { ResourcesModule } from '../resources';
import { AllowedToolKind } from './servers/allowed-tool-kind';
import { CheckMetrics } from './servers/checks/check.metrics';
import { CheckRepository } from './servers/checks/check.repository';
import { CheckService } from './servers/checks/check.service';
import { ServerConnections } from './connection/server-connections';
import { ServerCredentials } from './connection/server-credentials';
import { OAuthTokens } from './connection/oauth-tokens';
import { ServerRefresher } from './servers/checks/server-refresher';
import { ToolCaller } from './connection/tool-caller';
import { RegistryListingRepository } from './registry/registry-listing.repository';
import { RegistryListingService } from './registry/registry-listing.service';
import { ToolLister } from './connection/tool-lister';
import { ServerReconcileStep } from './reconcile/server-reconcile.step';
import { ServerDirectory } from './servers/server-directory';
import { ServerPackager } from './servers/server.packager';
import { ServerEntity } from './servers/server.entity';
import { ServerRepository } from './servers/server.repository';
import { ServerService } from './servers/server.service';
import { ToolStore } from './servers/tool-store';
import { ToolEntity } from './servers/tool.entity';
import { ToolRepository } from './servers/tool.repository';
import { ToolVersionService } from './servers/tool-version.service';

/** MCP servers and their tools, without routes: for the API and the worker. */
@Module({
  imports: [
    TypeOrmModule.forFeature([ServerEntity, ToolEntity]),
    MetricsModule,
    OutboundModule,
    SecretsModule,
    ResourcesModule,
  ],
  providers: [
    AllowedToolKind,
    ServerService,
    ServerRepository,
    ToolRepository,
    ToolStore,
    ToolVersionService,
    RegistryListingRepository,
    RegistryListingService,
    ServerDirectory,
    ServerPackager,
    ServerReconcileStep,
    ServerCredentials,
    ServerConnections,
    ToolLister,
    OAuthTokens,
    ToolCaller,
    ServerRefresher,
    CheckRepository,
    CheckMetrics,
    CheckService,
  ],
  exports: [
    ServerService,
    ServerDirectory,
    ServerRefresher,
    CheckRepository,
    CheckService,
    ToolCaller,
    ToolStore,
    ToolVersionService,
    RegistryListingService,
  ],
})
export class McpServersModule {}
