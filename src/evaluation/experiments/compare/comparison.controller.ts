import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestSignal } from '#platform/http';
import { ScoreReasonDto } from './compared-case.dto';
import { CompareQueryDto, ComparisonDto } from './comparison.dto';
import { ComparisonService } from './comparison.service';

@ApiTags('Comparison')
@ApiExtraModels(ScoreReasonDto)
@Controller('eval/v1/experiments/:experiment_id')
@RequireWorkspace()
export class ComparisonController {
  constructor(private readonly comparisons: ComparisonService) {}

  /** Compare an experiment with a baseline */
  @Get('compare')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ComparisonDto })
  compare(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Query() query: CompareQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<ComparisonDto> {
    return this.comparisons.compare(scope, experimentId, query, signal);
  }
}
