import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SecretsModule } from '#platform/secrets';
import { PathNames } from '#platform/auth';
import { AllowedKinds } from './access/allowed-kinds';
import { ProtectedLabels } from './access/protected-labels.repository';
import { NamedPaths } from './access/named-paths';
import { WorkspaceAccess } from './access/workspace-access';
import { WorkspaceAccessRepository } from './access/workspace-access.repository';
import { AuditEntryEntity } from './audit-log/audit-entry.entity';
import { AuditLog } from './audit-log/audit-log.repository';
import { Packagers } from './packages/packager';
import { ErasureItems } from './erasure/erasure-items.repository';
import { ErasureRepository } from './erasure/erasure.repository';
import { ErasureSteps } from './erasure/erasure-steps';
import { Erasures } from './erasure/erasures';
import { References } from './references/references';
import { ReconcileSteps } from './reconcile/reconcile-step';
import { ResourceKit } from './resource.service';
import { SearchIndex } from './search-index/search-index';
import { SearchIndexRepository } from './search-index/search-index.repository';

/** The resource kit: the providers that every area needs to manage resources. */
@Module({
  imports: [SecretsModule, TypeOrmModule.forFeature([AuditEntryEntity])],
  providers: [
    AllowedKinds,
    AuditLog,
    ErasureItems,
    ErasureRepository,
    Erasures,
    ErasureSteps,
    NamedPaths,
    Packagers,
    ProtectedLabels,
    { provide: PathNames, useExisting: NamedPaths },
    ReconcileSteps,
    References,
    ResourceKit,
    SearchIndex,
    SearchIndexRepository,
    WorkspaceAccess,
    WorkspaceAccessRepository,
  ],
  exports: [
    AllowedKinds,
    AuditLog,
    ErasureItems,
    ErasureRepository,
    Erasures,
    ErasureSteps,
    Packagers,
    PathNames,
    ReconcileSteps,
    References,
    ResourceKit,
    SearchIndex,
    WorkspaceAccess,
    WorkspaceAccessRepository,
  ],
})
export class ResourcesModule {}
