import { Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { AllowedBy, CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { type Reply, RequestSignal } from '#platform/http';
import type { Page } from '#platform/paging';
import { Throws } from '#platform/problem';
import { exportReply, type OtlpBody, OtlpContent, AcceptsOtlp } from '../otlp-http/otlp-body.decorator';
import { ExportTraceResponseDto, type ScoredTraceDto, ScoredTracePageDto, TraceTreeDto } from './trace.dto';
import { DeleteTraceQueryDto, TraceListQueryDto } from './trace-query.dto';
import { TraceExportService, TraceService } from './trace.service';

const LIST_DESCRIPTION =
  'With filters that no index serves, a page checks a bounded number of traces. It may then contain fewer than `limit` traces, or none. Continue with `next_cursor`, which also skips the rest of an `offset`. `total` is null if counting would check more traces than that.';

@Controller('telemetry/v1/traces')
@RequireWorkspace()
export class TraceController {
  constructor(
    private readonly exports: TraceExportService,
    private readonly traces: TraceService,
  ) {}

  /** Ingest traces (OTLP/HTTP) */
  @Post()
  @AllowedBy('telemetry')
  @ApiTags('Telemetry')
  @HttpCode(200)
  @RequireRole('editor', 'runtime')
  @AcceptsOtlp('ExportTraceServiceRequest', ExportTraceResponseDto)
  async ingest(
    @CurrentScope() scope: Scope,
    @OtlpContent() body: OtlpBody,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    return exportReply(body, 'traces', await this.exports.export(scope, body, signal));
  }

  /** List traces, by default newest first */
  @Get()
  @ApiTags('Traces')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScoredTracePageDto, description: LIST_DESCRIPTION })
  list(
    @CurrentScope() scope: Scope,
    @Query() query: TraceListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<ScoredTraceDto>> {
    return this.traces.list(scope, query, signal);
  }

  /** Get a trace with the tree of its first 1,000 spans */
  @Get(':trace_id')
  @ApiTags('Traces')
  @RequireRole('viewer')
  @ApiOkResponse({
    type: TraceTreeDto,
    description: 'Contains fewer spans if their names and status messages exceed 4 MiB.',
  })
  get(
    @CurrentScope() scope: Scope,
    @Param('trace_id') traceId: string,
    @RequestSignal() signal: AbortSignal,
  ): Promise<TraceTreeDto> {
    return this.traces.get(scope, traceId, signal);
  }

  /** Delete a trace with its spans, log records and scores */
  @Delete(':trace_id')
  @ApiTags('Traces')
  @Throws('conflict')
  @HttpCode(204)
  @RequireRole('admin')
  @ApiNoContentResponse()
  delete(
    @CurrentScope() scope: Scope,
    @Param('trace_id') traceId: string,
    @Query() query: DeleteTraceQueryDto,
  ): Promise<void> {
    return this.traces.delete(scope, traceId, query);
  }
}
