import { Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { AllowedBy, CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { type Reply, RequestSignal } from '#platform/http';
import type { Page } from '#platform/paging';
import { exportReply, type OtlpBody, OtlpContent, AcceptsOtlp } from '../otlp-http/otlp-body.decorator';
import { RECORD_PAGE } from '../records/record.dto';
import { ExportLogsResponseDto, LogListQueryDto, type LogRecordDto, LogRecordPageDto } from './log.dto';
import { LogExportService, LogService } from './log.service';

@Controller('telemetry/v1/logs')
@RequireWorkspace()
export class LogController {
  constructor(
    private readonly exports: LogExportService,
    private readonly logs: LogService,
  ) {}

  /** Ingest logs (OTLP/HTTP) */
  @Post()
  @AllowedBy('telemetry')
  @ApiTags('Telemetry')
  @HttpCode(200)
  @RequireRole('editor', 'runtime')
  @AcceptsOtlp('ExportLogsServiceRequest', ExportLogsResponseDto)
  async ingest(
    @CurrentScope() scope: Scope,
    @OtlpContent() body: OtlpBody,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    return exportReply(body, 'logs', await this.exports.export(scope, body, signal));
  }

  /** List log records, newest first */
  @Get()
  @ApiTags('Logs')
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
