import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { type Reply, RequestSignal } from '#platform/http';
import type { Page } from '#platform/paging';
import {
  SpanExportQueryDto,
  SpanListQueryDto,
  type TelemetrySpanDto,
  TelemetrySpanPageDto,
} from './span.dto';
import { SPAN_MEDIA, SpanService } from './span.service';

@ApiTags('Traces')
@Controller('telemetry/v1/traces/:trace_id/spans')
@RequireWorkspace()
export class SpanController {
  constructor(private readonly spans: SpanService) {}

  /** List the spans of a trace, by start time */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({
    type: TelemetrySpanPageDto,
    description: 'At most `limit` spans. A page ends early if it exceeds 4 MiB. Continue with `next_cursor`.',
  })
  list(
    @CurrentScope() scope: Scope,
    @Param('trace_id') traceId: string,
    @Query() query: SpanListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<TelemetrySpanDto>> {
    return this.spans.list(scope, traceId, query, signal);
  }

  /** Export all spans of a trace, by start time */
  @Get('export')
  @RequireRole('viewer')
  @ApiOkResponse({
    description:
      'One span per line, with the same members as in the list. The response is streamed, and is cut off if reading fails.',
    content: { [SPAN_MEDIA]: { schema: { type: 'string' } } },
    headers: {
      'Content-Disposition': { description: 'The name of the file.', schema: { type: 'string' } },
    },
  })
  export(
    @CurrentScope() scope: Scope,
    @Param('trace_id') traceId: string,
    @Query() _query: SpanExportQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    return this.spans.export(scope, traceId, signal);
  }
}
