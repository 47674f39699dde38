import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtraModels, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { created, IfMatch, NotRepeatable, Reply, versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import {
  CreateExperimentDto,
  ExperimentDto,
  ExperimentPageDto,
  PatchExperimentDto,
  ScorerReferenceDto,
  ScoreSummaryDto,
} from './experiment.dto';
import { ExperimentListQueryDto, ExperimentSearchDto } from './experiment-query.dto';
import { ExperimentService } from './experiment.service';

@ApiTags('Experiments')
@ApiExtraModels(ScoreSummaryDto, ScorerReferenceDto)
@Controller('eval/v1/experiments')
@RequireWorkspace()
export class ExperimentController {
  constructor(private readonly experiments: ExperimentService) {}

  /** Create an experiment, or resume one that is running */
  @Post()
  @RequireRole('editor')
  @ApiCreatedResponse({ type: ExperimentDto })
  @ApiOkResponse({ type: ExperimentDto, description: 'The running experiment that is resumed.' })
  async create(@CurrentScope() scope: Scope, @Body() dto: CreateExperimentDto): Promise<Reply> {
    const { view, version, resumed } = await this.experiments.create(scope, dto);
    return resumed
      ? versioned(view, version)
      : created(`/eval/v1/experiments/${view.experiment_id}`, view, version);
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
  @NotRepeatable()
  @HttpCode(200)
  @RequireRole('viewer')
  @ApiOkResponse({ type: ExperimentPageDto })
  search(@CurrentScope() scope: Scope, @Body() dto: ExperimentSearchDto): Promise<Page<ExperimentDto>> {
    return this.experiments.search(scope, dto);
  }

  /** Get an experiment */
  @Get(':experiment_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ExperimentDto })
  async get(@CurrentScope() scope: Scope, @Param('experiment_id') id: string): Promise<Reply> {
    const { view, version } = await this.experiments.get(scope, id);
    return versioned(view, version);
  }

  /** Change a running experiment, or finalize it */
  @Patch(':experiment_id')
  @RequireRole('editor')
  @ApiOkResponse({ type: ExperimentDto })
  async patch(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') id: string,
    @Body() dto: PatchExperimentDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.experiments.patch(scope, id, dto, ifMatch);
    return versioned(view, version);
  }

  /** Archive an experiment */
  @Post(':experiment_id/archive')
  @HttpCode(200)
  @RequireRole('evaluator')
  @ApiOkResponse({ type: ExperimentDto })
  async archive(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') id: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.experiments.archive(scope, id, ifMatch);
    return versioned(view, version);
  }
}
