import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import type { Reply } from '#platform/http';
import { acceptedErasure, ERASURE_RESPONSE } from '../../../resources';
import { TraceDeletionDto } from './trace-deletion.dto';
import { TraceDeletionsService } from './trace-deletions.service';

@ApiTags('Traces')
@Controller('telemetry/v1/traces/delete')
@RequireWorkspace()
export class TraceDeletionsController {
  constructor(private readonly deletions: TraceDeletionsService) {}

  /**
   * Delete many traces
   *
   * A worker deletes them with their spans, log records and scores. `GET` the `Location` for the progress.
   */
  @Post()
  @HttpCode(202)
  @RequireRole('admin')
  @ApiAcceptedResponse(ERASURE_RESPONSE)
  async delete(@CurrentScope() scope: Scope, @Body() dto: TraceDeletionDto): Promise<Reply> {
    return acceptedErasure(await this.deletions.request(scope, dto));
  }
}
