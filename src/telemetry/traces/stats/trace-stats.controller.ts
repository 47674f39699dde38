import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestBody, RequestSignal, SELECTION_MAX_BYTES } from '#platform/http';
import { TelemetryTraceStatsDto, TelemetryTraceStatsQueryDto } from './trace-stats.dto';
import { TelemetryTraceStatsService } from './trace-stats.service';

@ApiTags('Traces')
@Controller('telemetry/v1/traces/stats')
@RequireWorkspace()
export class TraceStatsController {
  constructor(private readonly stats: TelemetryTraceStatsService) {}

  /** Compute statistics of the workspace's traces */
  @Post('query')
  @HttpCode(200)
  @RequireRole('viewer')
  @RequestBody({ optional: true, limit: SELECTION_MAX_BYTES })
  @ApiBody({ type: TelemetryTraceStatsQueryDto, required: false })
  @ApiOkResponse({ type: TelemetryTraceStatsDto })
  query(
    @CurrentScope() scope: Scope,
    @Body() query: TelemetryTraceStatsQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<TelemetryTraceStatsDto> {
    return this.stats.query(scope, query, signal);
  }
}
