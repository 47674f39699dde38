import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { LongRunning, Reply, RequestBody, RequestSignal } from '#platform/http';
import { QueuedRunDto, ScoreRequestDto, SynchronousScoresDto } from './scoring.dto';
import { ScoringService } from './scoring.service';

@ApiTags('Scoring')
@Controller('eval/v1/scorers/:scorer_id/score')
@RequireWorkspace()
export class ScoringController {
  constructor(private readonly scoring: ScoringService) {}

  /**
   * Score traces, sessions or results, or test or preview a scorer
   *
   * @remarks In mode `score`, an organization can have at most `MAX_OPEN_SCORE_RUNS` open runs (429 with `Retry-After`). In the modes `test` and `score`, a scorer of kind `llm_judge` needs a judge backend. Without one, the response is 503 and nothing is stored. `preview` needs no judge backend. Without one, it shows the request for a judge that supports every feature, and omits `model` if the scorer names none.
   */
  @Post()
  @HttpCode(202)
  @RequireRole('evaluator')
  @LongRunning(
    ({ body }) => (body as Partial<ScoreRequestDto> | null | undefined)?.mode === 'test',
    ({ TEST_SCORING_TIMEOUT_MS }) => TEST_SCORING_TIMEOUT_MS,
  )
  @RequestBody({
    limit: ({ SCORING_LIMIT_BYTES }) => SCORING_LIMIT_BYTES,
    codings: ['gzip', 'base64'],
  })
  @ApiAcceptedResponse({
    type: QueuedRunDto,
    description: 'In mode `score`: the queued run. A run without targets then succeeds.',
  })
  @ApiOkResponse({ type: SynchronousScoresDto, description: 'In mode `preview` or `test`: the results.' })
  async score(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Body() dto: ScoreRequestDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const outcome = await this.scoring.score(scope, scorerId, dto, signal);
    if ('scores' in outcome) return new Reply(200, outcome.scores);
    const { queued } = outcome;
    return new Reply(202, queued, { Location: `/eval/v1/score-runs/${queued.score_run_id}` });
  }
}
