import { Module } from '@nestjs/common';
import { JobsModule, JobsWorkerModule } from '#platform/jobs';
import { StorageModule } from '#platform/storage';
import { AuditDetailsRepository } from './erasure/audit-details.repository';
import { ErasureRunner } from './erasure/erasure.runner';
import { ERASURE } from './erasure/erasures';
import { KeptResponsesRepository } from './erasure/kept-responses.repository';
import { StoredObjectsStep } from './erasure/stored-objects.step';
import { TenantTables } from './erasure/tenant-tables.repository';
import { TenantTablesStep } from './erasure/tenant-tables.step';
import { ResourcesModule } from './resources.module';

/** The worker's part of the resource kit: it runs erasures. */
@Module({
  imports: [JobsModule.register(ERASURE), JobsWorkerModule, ResourcesModule, StorageModule],
  providers: [
    AuditDetailsRepository,
    ErasureRunner,
    KeptResponsesRepository,
    StoredObjectsStep,
    TenantTables,
    TenantTablesStep,
  ],
})
export class ResourcesWorkerModule {}
