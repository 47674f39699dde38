import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import type { Page } from '#platform/paging';
import { AuditEntryDto, AuditLogPageDto, AuditLogQueryDto } from './audit-entry.dto';
import { AuditLogService } from './audit-log.service';

@ApiTags('Audit log')
@Controller('registry/v1/audit-log')
export class AuditLogController {
  constructor(private readonly log: AuditLogService) {}

  /** List who changed what, and when, of what the caller administers */
  @Get()
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: AuditLogPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: AuditLogQueryDto): Promise<Page<AuditEntryDto>> {
    return this.log.list(scope, query);
  }
}
