import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { created, IfMatch, Reply, versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import {
  CreateScoringRuleDto,
  PatchScoringRuleDto,
  ScoringRuleDto,
  ScoringRuleListQueryDto,
  ScoringRulePageDto,
} from './scoring-rule.dto';
import { ScoringRuleService } from './scoring-rule.service';

@ApiTags('Scoring')
@Controller('eval/v1/scorers/:scorer_id/rules')
@RequireWorkspace()
export class ScoringRuleController {
  constructor(private readonly rules: ScoringRuleService) {}

  /**
   * Have a scorer score what arrives
   *
   * @remarks Traces, or sessions, that arrive from now on are scored once they have been quiet for a while, each once by each version of the scorer. A scorer has at most 20 rules that are not archived (409). One of the kind `llm_judge` needs a judge backend: 503 without one, before anything is stored.
   */
  @Post()
  @RequireRole('evaluator')
  @ApiCreatedResponse({ type: ScoringRuleDto })
  async create(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Body() dto: CreateScoringRuleDto,
  ): Promise<Reply> {
    const { view, version } = await this.rules.create(scope, scorerId, dto);
    return created(`/eval/v1/scorers/${scorerId}/rules/${view.rule_id}`, view, version);
  }

  /** List the rules of a scorer */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScoringRulePageDto })
  list(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Query() query: ScoringRuleListQueryDto,
  ): Promise<Page<ScoringRuleDto>> {
    return this.rules.list(scope, scorerId, query);
  }

  /** Get a rule of a scorer */
  @Get(':rule_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScoringRuleDto })
  async get(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Param('rule_id') id: string,
  ): Promise<Reply> {
    const { view, version } = await this.rules.get(scope, scorerId, id);
    return versioned(view, version);
  }

  /** Change a rule of a scorer */
  @Patch(':rule_id')
  @RequireRole('evaluator')
  @ApiOkResponse({ type: ScoringRuleDto })
  async patch(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Param('rule_id') id: string,
    @Body() dto: PatchScoringRuleDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.rules.patch(scope, scorerId, id, dto, ifMatch);
    return versioned(view, version);
  }

  /** Archive a rule of a scorer */
  @Post(':rule_id/archive')
  @HttpCode(200)
  @RequireRole('evaluator')
  @ApiOkResponse({ type: ScoringRuleDto })
  async archive(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Param('rule_id') id: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.rules.archive(scope, scorerId, id, ifMatch);
    return versioned(view, version);
  }
}
