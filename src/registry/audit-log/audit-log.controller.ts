import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { type Page, toPage } from '#platform/paging';
import { AuditEntryDto, AuditLogPageDto, AuditLogQueryDto, toAuditEntryDto } from './audit-log.dto';
import { AuditLogListRepository } from './audit-log-list.repository';

@ApiTags('Audit log')
@Controller('registry/v1/audit-log')
export class AuditLogController {
  constructor(private readonly entries: AuditLogListRepository) {}

  /** List the audit entries of the workspaces that the caller administers */
  @Get()
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: AuditLogPageDto })
  async list(
    @CurrentScope() scope: OrgScope,
    @Query() query: AuditLogQueryDto,
  ): Promise<Page<AuditEntryDto>> {
    return toPage(await this.entries.list(scope, query), toAuditEntryDto);
  }
}
