import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiExtraModels,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { created, IfMatch, type Reply, RequestSignal, versioned, type Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { Throws } from '#platform/problem';
import {
  BulkResultsResponseDto,
  BulkResultsDto,
  CreateResultDto,
  PatchResultDto,
  ResultDto,
  ResultPageDto,
  ScoreDetailDto,
} from './result.dto';
import { ResultExportService } from './result-export.service';
import { ResultExportQueryDto, ResultListQueryDto } from './result-query.dto';
import { ResultService } from './result.service';
import { DeletionQueryDto } from '../../../resources';
import { EXPORT_MEDIA } from '../../datasets';

const TEXT = { schema: { type: 'string' } } as const;

@ApiTags('Results')
@ApiExtraModels(ScoreDetailDto)
@Controller('eval/v1/experiments/:experiment_id/results')
@RequireWorkspace()
export class ResultController {
  constructor(
    private readonly results: ResultService,
    private readonly exports: ResultExportService,
  ) {}

  /** Add the result of one case */
  @Post()
  @RequireRole('editor')
  @ApiCreatedResponse({ type: ResultDto })
  @ApiOkResponse({
    type: ResultDto,
    description: 'With `skip`, the stored result. With `replace`, the new state of the result.',
  })
  async create(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Body() dto: CreateResultDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const { status, result } = await this.results.create(scope, experimentId, dto, signal);
    if (status === 200) return versioned(result.view, result.version);
    return created(`/eval/v1/experiments/${experimentId}/results/${result.view.result_id}`, result);
  }

  /** Add the results of up to 100 cases */
  @Post('bulk')
  @HttpCode(207)
  @RequireRole('editor')
  @ApiResponse({
    status: 207,
    type: BulkResultsResponseDto,
    description:
      'The outcome of each item, in the order sent. Items beyond a limit get 413: send fewer at once. Together, results can take 32 MiB of values from records and 8 MiB from a CSV version, and `skip` returns up to 16 MiB of stored results.',
  })
  async createBulk(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Body() dto: BulkResultsDto,
  ): Promise<BulkResultsResponseDto> {
    return { items: await this.results.createBulk(scope, experimentId, dto) };
  }

  /** List an experiment's results */
  @Get()
  @Throws('validation_failed')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ResultPageDto })
  list(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Query() query: ResultListQueryDto,
  ): Promise<Page<ResultDto>> {
    return this.results.list(scope, experimentId, query);
  }

  /** Export an experiment's results */
  @Get('export')
  @Throws('validation_failed')
  @RequireRole('viewer')
  @ApiOkResponse({
    description:
      'The results, oldest first. While the experiment runs, results that are stored during the export may be included.',
    content: { [EXPORT_MEDIA.jsonl]: TEXT, [EXPORT_MEDIA.csv]: TEXT },
    headers: {
      'Content-Disposition': { description: 'The file name to save under.', schema: { type: 'string' } },
    },
  })
  export(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Query() query: ResultExportQueryDto,
  ): Promise<Reply> {
    return this.exports.export(scope, experimentId, query);
  }

  /** Get a result */
  @Get(':result_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ResultDto })
  get(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Param('result_id') id: string,
  ): Promise<Versioned<ResultDto>> {
    return this.results.get(scope, experimentId, id);
  }

  /** Add scores to a result of a running experiment, or change its tags and metadata */
  @Patch(':result_id')
  @RequireRole('editor')
  @ApiOkResponse({ type: ResultDto })
  patch(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Param('result_id') id: string,
    @Body() dto: PatchResultDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<ResultDto>> {
    return this.results.patch(scope, experimentId, id, dto, ifMatch);
  }

  /** Delete a result of a running experiment, and its scores */
  @Delete(':result_id')
  @HttpCode(204)
  @Throws('conflict')
  @RequireRole('admin')
  @ApiNoContentResponse()
  delete(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Param('result_id') id: string,
    @Query() { force }: DeletionQueryDto,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    return this.results.delete(scope, experimentId, id, { force, ifMatch });
  }
}
