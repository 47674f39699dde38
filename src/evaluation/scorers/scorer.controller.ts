import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { created, IfMatch, pathNumber, Reply, versioned } from '#platform/http';
import { ListQueryDto, type Page } from '#platform/paging';
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
export class ScorerController {
  constructor(private readonly scorers: ScorerService) {}

  /** Create a scorer */
  @Post()
  @RequireRole('editor')
  @ApiCreatedResponse({ type: ScorerDto })
  async create(@CurrentScope() scope: Scope, @Body() dto: CreateScorerDto): Promise<Reply> {
    const { view, version } = await this.scorers.create(scope, dto);
    return created(`/eval/v1/scorers/${view.scorer_id}`, view, version);
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
  async get(@CurrentScope() scope: Scope, @Param('scorer_id') id: string): Promise<Reply> {
    const { view, version } = await this.scorers.get(scope, id);
    return versioned(view, version);
  }

  /** Change a scorer, which makes a new version of it */
  @Patch(':scorer_id')
  @RequireRole('editor')
  @ApiOkResponse({ type: ScorerDto })
  async patch(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') id: string,
    @Body() dto: PatchScorerDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.scorers.patch(scope, id, dto, ifMatch);
    return versioned(view, version);
  }

  /** Archive a scorer */
  @Post(':scorer_id/archive')
  @HttpCode(200)
  @RequireRole('evaluator')
  @ApiOkResponse({ type: ScorerDto })
  async archive(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') id: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.scorers.archive(scope, id, ifMatch);
    return versioned(view, version);
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
  async getVersion(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') id: string,
    @Param('version') version: string,
  ): Promise<Reply> {
    const found = await this.scorers.getVersion(scope, id, pathNumber(version, 'scorer version'));
    return versioned(found.view, found.version);
  }
}
