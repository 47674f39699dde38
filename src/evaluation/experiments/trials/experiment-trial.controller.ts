import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestSignal } from '#platform/http';
import { ExperimentTrialListQueryDto, ExperimentTrialPageDto } from './experiment-trial.dto';
import { ExperimentTrialService } from './experiment-trial.service';

@ApiTags('Experiments')
@Controller('eval/v1/experiments/:experiment_id/trials')
@RequireWorkspace()
export class ExperimentTrialController {
  constructor(private readonly trials: ExperimentTrialService) {}

  /** List how many trials of each case pass, with pass@k and pass^k */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ExperimentTrialPageDto })
  list(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Query() query: ExperimentTrialListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<ExperimentTrialPageDto> {
    return this.trials.list(scope, experimentId, query, signal);
  }
}
