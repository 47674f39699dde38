import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import {
  ApiSchemas,
  created,
  IfMatch,
  pathNumber,
  type Reply,
  RequestSignal,
  type Versioned,
} from '#platform/http';
import { ListQueryDto, type Page } from '#platform/paging';
import { CreatesNamed, CreationQueryDto, LifecycleController } from '../../resources';
import { DEFINITION_COMPONENTS } from './definitions/definition.forms';
import {
  CreateScorerDto,
  PatchScorerDto,
  ScorerDto,
  ScorerListQueryDto,
  ScorerPageDto,
  ScorerVersionDto,
  ScorerVersionPageDto,
} from './scorer.dto';
import { ScorerService } from './scorer.service';

@ApiTags('Scorers')
@Controller('eval/v1/scorers')
@RequireWorkspace()
export class ScorerController extends LifecycleController({
  param: 'scorer_id',
  view: ScorerDto,
  access: RequireRole('evaluator'),
  archive: { summary: 'Archive a scorer' },
  restore: { summary: 'Restore an archived scorer' },
  delete: { summary: 'Delete an archived scorer', access: RequireRole('admin') },
}) {
  constructor(private readonly scorers: ScorerService) {
    super(scorers);
  }

  /** Create a scorer */
  @Post()
  @RequireRole('editor')
  @CreatesNamed(ScorerDto)
  @ApiSchemas(DEFINITION_COMPONENTS)
  async create(
    @CurrentScope() scope: Scope,
    @Body() dto: CreateScorerDto,
    @Query() { on_conflict }: CreationQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const scorer = await this.scorers.create(scope, dto, signal, on_conflict);
    return created(`/eval/v1/scorers/${scorer.view.scorer_id}`, scorer);
  }

  /** List scorers */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScorerPageDto })
  list(@CurrentScope() scope: Scope, @Query() query: ScorerListQueryDto): Promise<Page<ScorerDto>> {
    return this.scorers.list(scope, query);
  }

  /** Get a scorer */
  @Get(':scorer_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScorerDto })
  get(@CurrentScope() scope: Scope, @Param('scorer_id') id: string): Promise<Versioned<ScorerDto>> {
    return this.scorers.get(scope, id);
  }

  /** Change a scorer */
  @Patch(':scorer_id')
  @RequireRole('editor')
  @ApiOkResponse({ type: ScorerDto })
  patch(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') id: string,
    @Body() dto: PatchScorerDto,
    @RequestSignal() signal: AbortSignal,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<ScorerDto>> {
    return this.scorers.patch(scope, id, dto, signal, ifMatch);
  }

  /** List the versions of a scorer */
  @Get(':scorer_id/versions')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScorerVersionPageDto })
  listVersions(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') id: string,
    @Query() query: ListQueryDto,
  ): Promise<Page<ScorerVersionDto>> {
    return this.scorers.listVersions(scope, id, query);
  }

  /** Get one version of a scorer */
  @Get(':scorer_id/versions/:version')
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScorerVersionDto })
  getVersion(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') id: string,
    @Param('version') version: string,
  ): Promise<Versioned<ScorerVersionDto>> {
    return this.scorers.getVersion(scope, id, pathNumber(version, 'scorer version'));
  }
}
