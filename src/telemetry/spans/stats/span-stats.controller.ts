import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestBody, RequestSignal, SELECTION_MAX_BYTES } from '#platform/http';
import { SpanStatsQueryDto, TelemetryTraceStatsDto } from '../../traces/stats/trace-stats.dto';
import { TelemetryTraceStatsService } from '../../traces/stats/trace-stats.service';

@ApiTags('Traces')
@Controller('telemetry/v1/spans/stats')
@RequireWorkspace()
export class SpanStatsController {
  constructor(private readonly stats: TelemetryTraceStatsService) {}

  /** Compute statistics of the workspace's spans */
  @Post('query')
  @HttpCode(200)
  @RequireRole('viewer')
  @RequestBody({ optional: true, limit: SELECTION_MAX_BYTES })
  @ApiBody({ type: SpanStatsQueryDto, required: false })
  @ApiOkResponse({ type: TelemetryTraceStatsDto })
  query(
    @CurrentScope() scope: Scope,
    @Body() query: SpanStatsQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<TelemetryTraceStatsDto> {
    return this.stats.querySpans(scope, query, signal);
  }
}
