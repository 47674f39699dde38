import { Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { ListQueryDto, type Page } from '#platform/paging';
import {
  ScoreResultDto,
  ScoreResultPageDto,
  ScoreRunDto,
  ScoreRunListQueryDto,
  ScoreRunPageDto,
} from './score-run.dto';
import { CanWait, CurrentWait, type Wait, WaitQueryDto } from '../waiting/wait';
import { ScoreRunService } from './score-run.service';

@ApiTags('Scoring')
@Controller('eval/v1/score-runs')
@RequireWorkspace()
export class ScoreRunController {
  constructor(private readonly runs: ScoreRunService) {}

  /** List scoring runs */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScoreRunPageDto })
  list(@CurrentScope() scope: Scope, @Query() query: ScoreRunListQueryDto): Promise<Page<ScoreRunDto>> {
    return this.runs.list(scope, query);
  }

  /** Get a scoring run */
  @Get(':score_run_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScoreRunDto })
  @CanWait()
  get(
    @CurrentScope() scope: Scope,
    @Param('score_run_id') id: string,
    @Query() query: WaitQueryDto,
    @CurrentWait() wait: Wait,
  ): Promise<ScoreRunDto> {
    return this.runs.getEnded(scope, id, query, wait);
  }

  /** List the results of a scoring run */
  @Get(':score_run_id/results')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScoreResultPageDto })
  listResults(
    @CurrentScope() scope: Scope,
    @Param('score_run_id') id: string,
    @Query() query: ListQueryDto,
  ): Promise<Page<ScoreResultDto>> {
    return this.runs.listResults(scope, id, query);
  }

  /** Cancel a scoring run */
  @Post(':score_run_id/cancel')
  @HttpCode(200)
  @RequireRole('evaluator')
  @ApiOkResponse({ type: ScoreRunDto })
  cancel(@CurrentScope() scope: Scope, @Param('score_run_id') id: string): Promise<ScoreRunDto> {
    return this.runs.cancel(scope, id);
  }
}
