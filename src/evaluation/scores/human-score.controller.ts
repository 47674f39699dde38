import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { created, type Reply } from '#platform/http';
import type { Page } from '#platform/paging';
import {
  CreateHumanScoreDto,
  HumanScoreDto,
  HumanScoreListQueryDto,
  HumanScorePageDto,
} from './human-score.dto';
import { HumanScoreService } from './human-score.service';

@ApiTags('Human scores')
@Controller('eval/v1/scores')
@RequireWorkspace()
export class HumanScoreController {
  constructor(private readonly scores: HumanScoreService) {}

  /** Record a human score of a trace, a session or a result */
  @Post()
  @Throws('not_found')
  @RequireRole('annotator')
  @ApiCreatedResponse({ type: HumanScoreDto })
  async create(@CurrentScope() scope: Scope, @Body() dto: CreateHumanScoreDto): Promise<Reply> {
    const view = await this.scores.create(scope, dto);
    return created(`/eval/v1/scores/${view.score_id}`, view);
  }

  /** List human scores */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: HumanScorePageDto })
  list(@CurrentScope() scope: Scope, @Query() query: HumanScoreListQueryDto): Promise<Page<HumanScoreDto>> {
    return this.scores.list(scope, query);
  }

  /** Get a human score */
  @Get(':score_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: HumanScoreDto })
  get(@CurrentScope() scope: Scope, @Param('score_id') id: string): Promise<HumanScoreDto> {
    return this.scores.get(scope, id);
  }
}
