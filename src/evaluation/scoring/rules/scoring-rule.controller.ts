import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { created, IfMatch, type Reply, type Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { Throws } from '#platform/problem';
import { DeletionQueryDto } from '../../../resources';
import {
  CreateScoringRuleDto,
  PatchScoringRuleDto,
  ScoringRuleDto,
  ScoringRuleListQueryDto,
  ScoringRulePageDto,
  WorkspaceRuleListQueryDto,
} from './scoring-rule.dto';
import { ScoringRuleService } from './scoring-rule.service';

@ApiTags('Scoring')
@Controller('eval/v1/scorers/:scorer_id/rules')
@RequireWorkspace()
export class ScoringRuleController {
  constructor(private readonly rules: ScoringRuleService) {}

  /**
   * Create a rule that scores traces or sessions as they arrive
   *
   * @remarks Scores traces or sessions that arrive from now on, once they have been quiet for `quiet_seconds`. Each version of the scorer scores a trace or session once. A scorer has at most 20 rules that are not archived (409). A scorer of kind `llm_judge` needs a judge backend: without one, the response is 503 and nothing is stored.
   */
  @Post()
  @RequireRole('evaluator')
  @ApiCreatedResponse({ type: ScoringRuleDto })
  async create(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Body() dto: CreateScoringRuleDto,
  ): Promise<Reply> {
    const rule = await this.rules.create(scope, scorerId, dto);
    return created(`/eval/v1/scorers/${scorerId}/rules/${rule.view.rule_id}`, rule);
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
  get(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Param('rule_id') id: string,
  ): Promise<Versioned<ScoringRuleDto>> {
    return this.rules.getOf(scope, scorerId, id);
  }

  /** Change a rule of a scorer */
  @Patch(':rule_id')
  @RequireRole('evaluator')
  @ApiOkResponse({ type: ScoringRuleDto })
  patch(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Param('rule_id') id: string,
    @Body() dto: PatchScoringRuleDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<ScoringRuleDto>> {
    return this.rules.patch(scope, scorerId, id, dto, ifMatch);
  }

  /** Archive a rule of a scorer */
  @Post(':rule_id/archive')
  @HttpCode(200)
  @RequireRole('evaluator')
  @ApiOkResponse({ type: ScoringRuleDto })
  archive(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Param('rule_id') id: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<ScoringRuleDto>> {
    return this.rules.archiveOf(scope, scorerId, id, ifMatch);
  }

  /** Restore an archived rule of a scorer */
  @Post(':rule_id/restore')
  @HttpCode(200)
  @RequireRole('evaluator')
  @ApiOkResponse({ type: ScoringRuleDto })
  restore(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Param('rule_id') id: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<ScoringRuleDto>> {
    return this.rules.restoreOf(scope, scorerId, id, ifMatch);
  }

  /** Delete an archived rule of a scorer */
  @Delete(':rule_id')
  @HttpCode(204)
  @Throws('conflict')
  @RequireRole('admin')
  @ApiNoContentResponse()
  delete(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Param('rule_id') id: string,
    @Query() { force }: DeletionQueryDto,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    return this.rules.deleteOf(scope, scorerId, id, { force, ifMatch });
  }
}

@ApiTags('Scoring')
@Controller('eval/v1/scoring-rules')
@RequireWorkspace()
export class WorkspaceScoringRuleController {
  constructor(private readonly rules: ScoringRuleService) {}

  /** List the scoring rules of all scorers */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScoringRulePageDto })
  list(
    @CurrentScope() scope: Scope,
    @Query() query: WorkspaceRuleListQueryDto,
  ): Promise<Page<ScoringRuleDto>> {
    return this.rules.listAll(scope, query);
  }
}
