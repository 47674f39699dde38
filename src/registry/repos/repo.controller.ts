import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, IfMatch, type Reply, versioned, type Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { LifecycleController } from '../../resources';
import { CreateRepoDto, PatchRepoDto, RepoDto, RepoListQueryDto, RepoPageDto } from './repo.dto';
import { RepoService } from './repo.service';

@ApiTags('Repositories')
@Controller('registry/v1/repos')
export class RepoController extends LifecycleController({
  param: 'repo_id',
  view: RepoDto,
  archive: { summary: 'Archive a repository' },
  restore: { summary: 'Restore an archived repository' },
  delete: { summary: 'Delete an archived repository' },
}) {
  constructor(private readonly repos: RepoService) {
    super(repos);
  }

  /**
   * Register a repository
   *
   * @remarks Returns 200 with the stored repository if the workspace already has it.
   */
  @Post()
  @RequireRoleSomewhere('editor')
  @ApiCreatedResponse({ type: RepoDto })
  @ApiOkResponse({ type: RepoDto, description: 'The workspace already has this repository.' })
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateRepoDto): Promise<Reply> {
    const { repo, isNew } = await this.repos.create(scope, dto);
    return isNew
      ? created(`/registry/v1/repos/${repo.view.repo_id}`, repo)
      : versioned(repo.view, repo.version);
  }

  /** List repositories */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: RepoPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: RepoListQueryDto): Promise<Page<RepoDto>> {
    return this.repos.list(scope, query);
  }

  /** Get a repository */
  @Get(':repo_id')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: RepoDto })
  get(@CurrentScope() scope: OrgScope, @Param('repo_id') id: string): Promise<Versioned<RepoDto>> {
    return this.repos.get(scope, id);
  }

  /** Change a repository */
  @Patch(':repo_id')
  @RequireRoleSomewhere('editor')
  @ApiOkResponse({ type: RepoDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('repo_id') id: string,
    @Body() dto: PatchRepoDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<RepoDto>> {
    return this.repos.patch(scope, id, dto, ifMatch);
  }
}
