import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkspaceAccessModule } from '../access/workspace-access.module';
import { AuditLogModule } from '../audit/audit-log.module';
import { SearchIndexModule } from '../search/search-index.module';
import { AppEntity } from './app.entity';
import { AppDeclarations } from './app-declarations';
import { AppRepository } from './app.repository';
import { AppService } from './app.service';
import { AppSweep } from './app-sweep';
import { ReconcileStepsModule } from './reconcile-steps.module';

/** Apps and their sweeps, for the API and the worker: apart from `RegistryModule`, which needs no steps to be there. */
@Module({
  imports: [
    TypeOrmModule.forFeature([AppEntity]),
    AuditLogModule,
    ReconcileStepsModule,
    SearchIndexModule,
    WorkspaceAccessModule,
  ],
  providers: [AppService, AppSweep, AppDeclarations, AppRepository],
  exports: [AppService, AppSweep, AppRepository],
})
export class AppsModule {}
