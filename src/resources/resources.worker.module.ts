import { Module } from '@nestjs/common';
import { JobsWorkerModule } from '#platform/jobs';
import { StorageModule } from '#platform/storage';
import { AuditDetailsStep } from './erasure/audit-details.step';
import { ErasureRunner } from './erasure/erasure.runner';
import { KeptResponsesStep } from './erasure/kept-responses.step';
import { StoredObjectsStep } from './erasure/stored-objects.step';
import { TenantTables } from './erasure/tenant-tables.repository';
import { TenantTablesStep } from './erasure/tenant-tables.step';
import { ResourcesModule } from './resources.module';

/** The worker's part of the resource kit: it runs erasures. */
@Module({
  imports: [JobsWorkerModule, ResourcesModule, StorageModule],
  providers: [
    AuditDetailsStep,
    ErasureRunner,
    KeptResponsesStep,
    StoredObjectsStep,
    TenantTables,
    TenantTablesStep,
  ],
})
export class ResourcesWorkerModule {}
