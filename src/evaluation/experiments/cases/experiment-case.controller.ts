import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestSignal } from '#platform/http';
import type { Page } from '#platform/paging';
import { Throws } from '#platform/problem';
import {
  ExperimentCaseListQueryDto,
  type ExperimentCaseDto,
  ExperimentCasePageDto,
} from './experiment-case.dto';
import { ExperimentCaseService } from './experiment-case.service';

@ApiTags('Experiments')
@Controller('eval/v1/experiments/:experiment_id/cases')
@RequireWorkspace()
export class ExperimentCaseController {
  constructor(private readonly cases: ExperimentCaseService) {}

  /** List the cases of an experiment, as they stood when it was created */
  @Get()
  @Throws('conflict', 'validation_failed')
  @RequireRole('viewer')
  @ApiOkResponse({
    type: ExperimentCasePageDto,
    description:
      'A page of the cases, without those of deleted records. 409 for an experiment without a dataset, and if the dataset or the ' +
      'CSV version was deleted. If few cases match, a page may be empty and have a `next_cursor`.',
  })
  list(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Query() query: ExperimentCaseListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<ExperimentCaseDto>> {
    return this.cases.list(scope, experimentId, query, signal);
  }
}
