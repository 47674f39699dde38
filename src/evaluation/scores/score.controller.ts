import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { AllowedBy, CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import {
  created,
  type Reply,
  RequestBody,
  RequestSignal,
  SELECTION_MAX_BYTES,
  UnavailableWhenLate,
} from '#platform/http';
import type { Page } from '#platform/paging';
import {
  BulkScoresDto,
  BulkScoresResponseDto,
  CreateScoreDto,
  ScoreDto,
  ScoreListQueryDto,
  ScorePageDto,
} from './score.dto';
import { ScoreStatsDto, ScoreStatsQueryDto } from './score-stats.dto';
import { ScoreStatsService } from './score-stats.service';
import { ScoreService } from './score.service';

@ApiTags('Scores')
@Controller('eval/v1/scores')
@RequireWorkspace()
export class ScoreController {
  constructor(
    private readonly scores: ScoreService,
    private readonly stats: ScoreStatsService,
  ) {}

  /** Record a score of a trace, a session or a result */
  @Post()
  @AllowedBy('scores')
  @Throws('not_found')
  @RequireRole('annotator', 'runtime')
  @ApiCreatedResponse({ type: ScoreDto })
  async create(@CurrentScope() scope: Scope, @Body() dto: CreateScoreDto): Promise<Reply> {
    const view = await this.scores.create(scope, dto);
    return created(`/eval/v1/scores/${view.score_id}`, view);
  }

  /**
   * Record up to 100 scores
   *
   * Each item is recorded as `POST /eval/v1/scores` records it, in the order sent. So the second of two scores of the same target
   * by the same scorer, source and author supersedes the first.
   */
  @Post('bulk')
  @AllowedBy('scores')
  @HttpCode(207)
  @RequireRole('annotator', 'runtime')
  @ApiResponse({
    status: 207,
    type: BulkScoresResponseDto,
    description: 'The outcome of each item, in the order sent.',
  })
  async createBulk(@CurrentScope() scope: Scope, @Body() dto: BulkScoresDto): Promise<BulkScoresResponseDto> {
    return { items: await this.scores.createBulk(scope, dto) };
  }

  /** List scores of all sources */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScorePageDto })
  list(@CurrentScope() scope: Scope, @Query() query: ScoreListQueryDto): Promise<Page<ScoreDto>> {
    return this.scores.list(scope, query);
  }

  /**
   * Compute statistics of all scores that are not superseded
   *
   * Every score that matches the filters counts: of each source, of each version of a scorer, and of each person. A result that
   * two versions scored counts twice, whereas the means of an experiment take one score of each result. For one version, send
   * `scorer_version`, or group by `version`; for one source, send `source`.
   */
  @Post('stats/query')
  @HttpCode(200)
  @RequireRole('viewer')
  @RequestBody({ optional: true, limit: SELECTION_MAX_BYTES })
  @ApiBody({ type: ScoreStatsQueryDto, required: false })
  @ApiOkResponse({ type: ScoreStatsDto })
  @UnavailableWhenLate('The scores could not be read in time. Narrow the query, or try again.')
  queryStats(
    @CurrentScope() scope: Scope,
    @Body() query: ScoreStatsQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<ScoreStatsDto> {
    return this.stats.query(scope, query, signal);
  }

  /** Get a score */
  @Get(':score_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScoreDto })
  get(@CurrentScope() scope: Scope, @Param('score_id') id: string): Promise<ScoreDto> {
    return this.scores.get(scope, id);
  }

  /**
   * Delete a score
   *
   * The score that it superseded stays superseded. A score of a result whose experiment is finalized cannot be deleted (409).
   */
  @Delete(':score_id')
  @HttpCode(204)
  @Throws('conflict')
  @RequireRole('admin')
  @ApiNoContentResponse()
  delete(@CurrentScope() scope: Scope, @Param('score_id') id: string): Promise<void> {
    return this.scores.delete(scope, id);
  }
}
