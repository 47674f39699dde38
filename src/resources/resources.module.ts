import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AllowedKinds } from './access/allowed-kinds';
import { WorkspaceAccess } from './access/workspace-access';
import { WorkspaceAccessRepository } from './access/workspace-access.repository';
import { AuditEntryEntity } from './audit-log/audit-entry.entity';
import { AuditLog } from './audit-log/audit-log.repository';
import { Packagers } from './packages/packager';
import { ReconcileSteps } from './reconcile/reconcile-step';
import { ResourceKit } from './resource.service';
import { SearchIndex } from './search-index/search-index';
import { SearchIndexRepository } from './search-index/search-index.repository';

/** The resource kit: the providers that every area needs to manage resources. */
@Module({
  imports: [TypeOrmModule.forFeature([AuditEntryEntity])],
  providers: [
    AllowedKinds,
    AuditLog,
    Packagers,
    ReconcileSteps,
    ResourceKit,
    SearchIndex,
    SearchIndexRepository,
    WorkspaceAccess,
    WorkspaceAccessRepository,
  ],
  exports: [
    AllowedKinds,
    AuditLog,
    Packagers,
    ReconcileSteps,
    ResourceKit,
    SearchIndex,
    WorkspaceAccess,
    WorkspaceAccessRepository,
  ],
})
export class ResourcesModule {}
