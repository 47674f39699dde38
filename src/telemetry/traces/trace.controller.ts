import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestSignal } from '#platform/http';
import type { Page } from '#platform/paging';
import { type TraceDto, TracePageDto, TraceTreeDto } from './trace.dto';
import { TraceListQueryDto } from './trace-query.dto';
import { TraceService } from './trace.service';

const LIST_DESCRIPTION =
  'With filters that no index serves, a page goes through a bounded number of traces: it may have fewer of them than `limit`, or none, and a `next_cursor` that goes on, also with what is left to pass over of an `offset`. `total` is null where counting would take longer than that.';

@ApiTags('Traces')
@Controller('telemetry/v1/traces')
@RequireWorkspace()
export class TraceController {
  constructor(private readonly traces: TraceService) {}

  /** List traces, newest first */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: TracePageDto, description: LIST_DESCRIPTION })
  list(
    @CurrentScope() scope: Scope,
    @Query() query: TraceListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<TraceDto>> {
    return this.traces.list(scope, query, signal);
  }

  /** Get a trace, with the tree of its first 1,000 spans */
  @Get(':trace_id')
  @RequireRole('viewer')
  @ApiOkResponse({
    type: TraceTreeDto,
    description: 'Fewer spans where their names and messages come to more than 4 MiB.',
  })
  get(
    @CurrentScope() scope: Scope,
    @Param('trace_id') traceId: string,
    @RequestSignal() signal: AbortSignal,
  ): Promise<TraceTreeDto> {
    return this.traces.get(scope, traceId, signal);
  }
}
