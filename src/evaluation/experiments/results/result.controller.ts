import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtraModels, ApiOkResponse, ApiResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { created, type Reply } from '#platform/http';
import type { Page } from '#platform/paging';
import {
  BulkResultsAnswerDto,
  BulkResultsDto,
  CreateResultDto,
  ResultDto,
  ResultListQueryDto,
  ResultPageDto,
  ScoreDetailDto,
} from './result.dto';
import { ResultService } from './result.service';

@ApiTags('Results')
@ApiExtraModels(ScoreDetailDto)
@Controller('eval/v1/experiments/:experiment_id/results')
@RequireWorkspace()
export class ResultController {
  constructor(private readonly results: ResultService) {}

  /** Add the result of one case */
  @Post()
  @RequireRole('editor')
  @ApiCreatedResponse({ type: ResultDto })
  async create(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Body() dto: CreateResultDto,
  ): Promise<Reply> {
    const view = await this.results.create(scope, experimentId, dto);
    return created(`/eval/v1/experiments/${experimentId}/results/${view.result_id}`, view);
  }

  /** Add the results of up to 100 cases */
  @Post('bulk')
  @HttpCode(207)
  @RequireRole('editor')
  @ApiResponse({
    status: 207,
    type: BulkResultsAnswerDto,
    description: 'The outcome of each item, in the order sent.',
  })
  async createBulk(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Body() dto: BulkResultsDto,
  ): Promise<BulkResultsAnswerDto> {
    return { items: await this.results.createBulk(scope, experimentId, dto) };
  }

  /** List an experiment's results */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ResultPageDto })
  list(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Query() query: ResultListQueryDto,
  ): Promise<Page<ResultDto>> {
    return this.results.list(scope, experimentId, query);
  }

  /** Get a result */
  @Get(':result_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ResultDto })
  get(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Param('result_id') id: string,
  ): Promise<ResultDto> {
    return this.results.get(scope, experimentId, id);
  }
}
