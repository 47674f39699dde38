import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestSignal } from '#platform/http';
import type { Page } from '#platform/paging';
import { RECORD_PAGE } from '../lists/record.dto';
import { type MetricPointDto, MetricPointPageDto } from './metric.dto';
import { MetricListQueryDto } from './metric-query.dto';
import { MetricService } from './metric.service';

@ApiTags('Metrics')
@Controller('telemetry/v1/metrics')
@RequireWorkspace()
export class MetricController {
  constructor(private readonly metrics: MetricService) {}

  /** List data points, newest first */
  @Get()
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
