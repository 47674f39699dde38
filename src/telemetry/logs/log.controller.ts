import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestSignal } from '#platform/http';
import type { Page } from '#platform/paging';
import { RECORD_PAGE } from '../lists/record.dto';
import { type LogRecordDto, LogRecordPageDto } from './log.dto';
import { LogListQueryDto } from './log-query.dto';
import { LogService } from './log.service';

@ApiTags('Logs')
@Controller('telemetry/v1/logs')
@RequireWorkspace()
export class LogController {
  constructor(private readonly logs: LogService) {}

  /** List log records, newest first */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: LogRecordPageDto, description: RECORD_PAGE })
  list(
    @CurrentScope() scope: Scope,
    @Query() query: LogListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<LogRecordDto>> {
    return this.logs.list(scope, query, signal);
  }
}
