import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Page } from '#platform/paging';
import { type AuditEntryDto, type AuditLogQueryDto, toAuditEntryDto } from './audit-entry.dto';
import { AuditLogRepository } from './audit-log.repository';

@Injectable()
export class AuditLogService {
  constructor(private readonly entries: AuditLogRepository) {}

  async list(scope: OrgScope, query: AuditLogQueryDto): Promise<Page<AuditEntryDto>> {
    const { rows, page } = await this.entries.list(scope, query);
    return { items: rows.map(toAuditEntryDto), page };
  }
}
