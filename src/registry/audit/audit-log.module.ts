import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditEntryEntity } from './audit-entry.entity';
import { AuditLog } from './audit-log';
import { AuditLogRepository } from './audit-log.repository';

/** The log, for whatever changes something. */
@Module({
  imports: [TypeOrmModule.forFeature([AuditEntryEntity])],
  providers: [AuditLog, AuditLogRepository],
  exports: [AuditLog, AuditLogRepository],
})
export class AuditLogModule {}
