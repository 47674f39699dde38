import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtraModels, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import {
  created,
  IfMatch,
  type Reply,
  RequestBody,
  RequestSignal,
  SELECTION_MAX_BYTES,
  versioned,
  type Versioned,
} from '#platform/http';
import type { Page } from '#platform/paging';
import { LifecycleController } from '../../../resources';
import {
  CreateExperimentDto,
  ExperimentDto,
  ExperimentPageDto,
  PatchExperimentDto,
  ScorerCoverageDto,
  ScorerReferenceDto,
  ScoreSummaryDto,
} from './experiment.dto';
import { ExperimentListQueryDto, ExperimentSearchDto } from './experiment-query.dto';
import { ExperimentService } from './experiment.service';

@ApiTags('Experiments')
@ApiExtraModels(ScoreSummaryDto, ScorerCoverageDto, ScorerReferenceDto)
@Controller('eval/v1/experiments')
@RequireWorkspace()
export class ExperimentController extends LifecycleController({
  param: 'experiment_id',
  view: ExperimentDto,
  access: RequireRole('evaluator'),
  archive: { summary: 'Archive an experiment' },
  restore: { summary: 'Restore an archived experiment' },
  delete: { summary: 'Delete an archived experiment', access: RequireRole('admin'), isErasure: true },
}) {
  constructor(private readonly experiments: ExperimentService) {
    super(experiments);
  }

  /** Create an experiment, or resume one */
  @Post()
  @Throws('not_found')
  @RequireRole('editor')
  @ApiCreatedResponse({ type: ExperimentDto })
  @ApiOkResponse({ type: ExperimentDto, description: 'The resumed experiment.' })
  async create(
    @CurrentScope() scope: Scope,
    @Body() dto: CreateExperimentDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const { experiment, isNew } = await this.experiments.create(scope, dto, signal);
    const { view, version } = experiment;
    return isNew
      ? created(`/eval/v1/experiments/${view.experiment_id}`, experiment)
      : versioned(view, version);
  }

  /** List experiments */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ExperimentPageDto })
  list(@CurrentScope() scope: Scope, @Query() query: ExperimentListQueryDto): Promise<Page<ExperimentDto>> {
    return this.experiments.list(scope, query);
  }

  /** Search experiments */
  @Post('search')
  @Throws('validation_failed')
  @HttpCode(200)
  @RequireRole('viewer')
  @RequestBody({ limit: SELECTION_MAX_BYTES })
  @ApiOkResponse({ type: ExperimentPageDto })
  search(@CurrentScope() scope: Scope, @Body() dto: ExperimentSearchDto): Promise<Page<ExperimentDto>> {
    return this.experiments.search(scope, dto);
  }

  /** Get an experiment */
  @Get(':experiment_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ExperimentDto })
  get(@CurrentScope() scope: Scope, @Param('experiment_id') id: string): Promise<Versioned<ExperimentDto>> {
    return this.experiments.get(scope, id);
  }

  /** Change a running experiment, or finalize it */
  @Patch(':experiment_id')
  @RequireRole('editor')
  @ApiOkResponse({ type: ExperimentDto })
  patch(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') id: string,
    @Body() dto: PatchExperimentDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<ExperimentDto>> {
    return this.experiments.patch(scope, id, dto, ifMatch);
  }
}
