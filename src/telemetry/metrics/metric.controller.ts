import { Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { AllowedBy, CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { type Reply, RequestSignal } from '#platform/http';
import type { Page } from '#platform/paging';
import { exportReply, type OtlpBody, OtlpContent, AcceptsOtlp } from '../otlp-http/otlp-body.decorator';
import { RECORD_PAGE } from '../records/record.dto';
import {
  ExportMetricsResponseDto,
  MetricListQueryDto,
  type MetricPointDto,
  MetricPointPageDto,
} from './metric.dto';
import { MetricExportService, MetricService } from './metric.service';

@Controller('telemetry/v1/metrics')
@RequireWorkspace()
export class MetricController {
  constructor(
    private readonly exports: MetricExportService,
    private readonly metrics: MetricService,
  ) {}

  /** Ingest metrics (OTLP/HTTP) */
  @Post()
  @AllowedBy('telemetry')
  @ApiTags('Telemetry')
  @HttpCode(200)
  @RequireRole('editor', 'runtime')
  @AcceptsOtlp('ExportMetricsServiceRequest', ExportMetricsResponseDto)
  async ingest(
    @CurrentScope() scope: Scope,
    @OtlpContent() body: OtlpBody,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    return exportReply(body, 'metrics', await this.exports.export(scope, body, signal));
  }

  /** List data points, newest first */
  @Get()
  @ApiTags('Metrics')
  @RequireRole('viewer')
  @ApiOkResponse({ type: MetricPointPageDto, description: RECORD_PAGE })
  list(
    @CurrentScope() scope: Scope,
    @Query() query: MetricListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<MetricPointDto>> {
    return this.metrics.list(scope, query, signal);
  }
}
