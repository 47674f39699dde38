import { Module } from '@nestjs/common';
import { JobsWorkerModule } from '#platform/jobs';
import { AuditDetailsStep } from './erasure/audit-details.step';
import { ErasureRunner } from './erasure/erasure.runner';
import { KeptResponsesStep } from './erasure/kept-responses.step';
import { TenantTables } from './erasure/tenant-tables.repository';
import { TenantTablesStep } from './erasure/tenant-tables.step';
import { ResourcesModule } from './resources.module';

/** The worker's part of the resource kit: it runs erasures. */
@Module({
  imports: [JobsWorkerModule, ResourcesModule],
  providers: [AuditDetailsStep, ErasureRunner, KeptResponsesStep, TenantTables, TenantTablesStep],
})
export class ResourcesWorkerModule {}
