import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestBody, RequestSignal, SELECTION_MAX_BYTES, UnavailableWhenLate } from '#platform/http';
import type { Page } from '#platform/paging';
import { type SpanDto, SpanListQueryDto, SpanPageDto } from '../../../telemetry';
import {
  ExperimentTraceDto,
  ExperimentTraceListQueryDto,
  ExperimentTracePageDto,
} from './experiment-trace.dto';
import { ExperimentTraceService } from './experiment-trace.service';
import { TraceStatsDto, TraceStatsQueryDto } from './trace-stats.dto';
import { TraceStatsService } from './trace-stats.service';

@ApiTags('Experiment traces')
@Controller('eval/v1/experiments/:experiment_id/traces')
@RequireWorkspace()
@UnavailableWhenLate(
  'The traces of the experiment could not be read in time. Read fewer of them, or try again.',
)
export class ExperimentTraceController {
  constructor(
    private readonly traces: ExperimentTraceService,
    private readonly stats: TraceStatsService,
  ) {}

  /** List an experiment's traces */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ExperimentTracePageDto })
  list(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Query() query: ExperimentTraceListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<ExperimentTraceDto>> {
    return this.traces.list(scope, experimentId, query, signal);
  }

  /** Get a trace */
  @Get(':trace_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ExperimentTraceDto })
  get(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Param('trace_id') traceId: string,
    @RequestSignal() signal: AbortSignal,
  ): Promise<ExperimentTraceDto> {
    return this.traces.get(scope, experimentId, traceId, signal);
  }

  /** List a trace's spans, by start time */
  @Get(':trace_id/spans')
  @RequireRole('viewer')
  @ApiOkResponse({
    type: SpanPageDto,
    description: 'At most `limit` spans, or fewer if these exceed 4 MiB. `next_cursor` continues after them.',
  })
  listSpans(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Param('trace_id') traceId: string,
    @Query() query: SpanListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<SpanDto>> {
    return this.traces.listSpans(scope, experimentId, traceId, query, signal);
  }

  /** Compute statistics of an experiment's traces */
  @Post('stats/query')
  @HttpCode(200)
  @RequireRole('viewer')
  @RequestBody({ optional: true, limit: SELECTION_MAX_BYTES })
  @ApiBody({ type: TraceStatsQueryDto, required: false })
  @ApiOkResponse({ type: TraceStatsDto })
  queryStats(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Body() query: TraceStatsQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<TraceStatsDto> {
    return this.stats.query(scope, experimentId, query, signal);
  }
}
