import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { AllowedBy, CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestBody, RequestSignal, SELECTION_MAX_BYTES } from '#platform/http';
import { TraceService } from '../trace.service';
import { TraceExistenceDto, TraceExistenceQueryDto } from './trace-existence.dto';

@ApiTags('Traces')
@Controller('telemetry/v1/traces/exists')
@RequireWorkspace()
export class TraceExistenceController {
  constructor(private readonly traces: TraceService) {}

  /**
   * Check which traces have arrived
   *
   * For clients that export traces by way of a collector. A trace that was exported directly can be read as soon as its export
   * returns 200.
   */
  @Post()
  @AllowedBy('read', 'telemetry')
  @HttpCode(200)
  @RequireRole('viewer', 'runtime')
  @RequestBody({ limit: SELECTION_MAX_BYTES })
  @ApiOkResponse({ type: TraceExistenceDto })
  check(
    @CurrentScope() scope: Scope,
    @Body() query: TraceExistenceQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<TraceExistenceDto> {
    return this.traces.findExisting(scope, query, signal);
  }
}
