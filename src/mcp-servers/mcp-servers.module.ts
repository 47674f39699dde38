import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SecretsModule } from '#platform/secrets';
import { AuditLogModule, ReconcileStepsModule, SearchIndexModule, WorkspaceAccessModule } from '../registry';
import { ServerReconcileStep } from './reconcile/server.reconcile-step';
import { ServerSweepRepository } from './reconcile/server-sweep.repository';
import { ServerDirectory } from './server-directory';
import { ServerDirectoryRepository } from './server-directory.repository';
import { ServerEntity } from './servers/server.entity';
import { ServerRepository } from './servers/server.repository';
import { ServerSecrets } from './servers/server-secrets';
import { ServerService } from './servers/server.service';
import { ToolEntity } from './tools/tool.entity';
import { ToolRepository } from './tools/tool.repository';
import { ToolService } from './tools/tool.service';
import { ToolStore } from './tools/tool-store';

/** MCP servers and their tools. Its logic, for the API and the worker alike. */
@Module({
  imports: [
    TypeOrmModule.forFeature([ServerEntity, ToolEntity]),
    SecretsModule,
    AuditLogModule,
    ReconcileStepsModule,
    SearchIndexModule,
    WorkspaceAccessModule,
  ],
  providers: [
    ServerService,
    ServerRepository,
    ServerSecrets,
    ToolService,
    ToolRepository,
    ToolStore,
    ServerDirectory,
    ServerDirectoryRepository,
    ServerReconcileStep,
    ServerSweepRepository,
  ],
  exports: [ServerService, ServerDirectory, ToolService, ToolStore],
})
export class McpServersModule {}
