import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { Reply, RequestBody, RequestSignal } from '#platform/http';
import type { Page } from '#platform/paging';
import {
  CreateScoreBatchDto,
  ScoreBatchDto,
  ScoreBatchesDto,
  ScoreBatchListQueryDto,
  ScoreBatchPageDto,
  ScoreExperimentDto,
} from './score-batch.dto';
import { CanWait, CurrentWait, type Wait, WaitQueryDto } from '../waiting/wait';
import { ScoreBatchService } from './score-batch.service';

@ApiTags('Scoring')
@Controller('eval/v1')
@RequireWorkspace()
export class ScoreBatchController {
  constructor(private readonly batches: ScoreBatchService) {}

  /**
   * Score up to 100,000 traces, sessions or results
   *
   * @remarks Selects the targets once, and scores them in runs of up to 100, a few runs at a time. If nothing is left to score, the batch has a `total` of 0 and has succeeded. An organization can have at most `MAX_OPEN_SCORE_BATCHES` open batches (429 with `Retry-After`). A scorer of kind `llm_judge` needs a judge backend: without one, the response is 503 and nothing is stored.
   */
  @Post('scorers/:scorer_id/batches')
  @HttpCode(202)
  @RequireRole('evaluator')
  @RequestBody({
    limit: ({ SCORING_LIMIT_BYTES }) => SCORING_LIMIT_BYTES,
    codings: ['gzip', 'base64'],
  })
  @ApiAcceptedResponse({
    type: ScoreBatchDto,
    description: 'The batch. A batch without targets has already succeeded.',
  })
  async create(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Body() dto: CreateScoreBatchDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const batch = await this.batches.create(scope, scorerId, dto, signal);
    return new Reply(202, batch, { Location: `/eval/v1/score-batches/${batch.score_batch_id}` });
  }

  /**
   * Score the results of an experiment with several scorers
   *
   * @remarks Orders one batch for each scorer, all or none, for a running or a finalized experiment. If nothing is left to score, a batch has a `total` of 0 and has succeeded. An organization can have at most `MAX_OPEN_SCORE_BATCHES` open batches (429 with `Retry-After`). Without a judge backend for a scorer of kind `llm_judge`, the response is 503 and nothing is stored.
   */
  @Post('experiments/:experiment_id/score')
  @HttpCode(202)
  @RequireRole('evaluator')
  @ApiAcceptedResponse({
    type: ScoreBatchesDto,
    description:
      'The batches, in the order of the scorers. A batch without targets has already succeeded. `Location` lists the batches of the experiment.',
  })
  async scoreExperiment(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Body() dto: ScoreExperimentDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const batches = await this.batches.scoreExperiment(scope, experimentId, dto, signal);
    return new Reply(202, batches, { Location: `/eval/v1/score-batches?experiment_id=${experimentId}` });
  }

  /** List batches of scoring runs */
  @Get('score-batches')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScoreBatchPageDto })
  list(@CurrentScope() scope: Scope, @Query() query: ScoreBatchListQueryDto): Promise<Page<ScoreBatchDto>> {
    return this.batches.list(scope, query);
  }

  /** Get a batch of scoring runs */
  @Get('score-batches/:score_batch_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScoreBatchDto })
  @CanWait()
  get(
    @CurrentScope() scope: Scope,
    @Param('score_batch_id') id: string,
    @Query() query: WaitQueryDto,
    @CurrentWait() wait: Wait,
  ): Promise<ScoreBatchDto> {
    return this.batches.getEnded(scope, id, query, wait);
  }

  /** Cancel a batch of scoring runs */
  @Post('score-batches/:score_batch_id/cancel')
  @HttpCode(200)
  @RequireRole('evaluator')
  @ApiOkResponse({ type: ScoreBatchDto })
  cancel(@CurrentScope() scope: Scope, @Param('score_batch_id') id: string): Promise<ScoreBatchDto> {
    return this.batches.cancel(scope, id);
  }
}
