import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, IfMatch, type Reply, versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { AppDto, AppListQueryDto, AppPageDto, CreateAppDto, PatchAppDto, ReconciledDto } from './app.dto';
import { AppService } from './app.service';
import { AppSweep } from './app-sweep';

@ApiTags('Apps')
@Controller('registry/v1/apps')
export class AppController {
  constructor(
    private readonly apps: AppService,
    private readonly sweeps: AppSweep,
  ) {}

  /** Declare an app; nothing is made of it before it is swept */
  @Post()
  @RequireRoleSomewhere('editor')
  @ApiCreatedResponse({ type: AppDto })
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateAppDto): Promise<Reply> {
    const { view, version } = await this.apps.create(scope, dto);
    return created(`/registry/v1/apps/${view.app}`, view, version);
  }

  /** List apps */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: AppPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: AppListQueryDto): Promise<Page<AppDto>> {
    return this.apps.list(scope, query);
  }

  /** Get an app by its slug or, also an archived one, by its id */
  @Get(':app')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: AppDto })
  async get(@CurrentScope() scope: OrgScope, @Param('app') app: string): Promise<Reply> {
    const { view, version } = await this.apps.get(scope, app);
    return versioned(view, version);
  }

  /** Change an app; what it declares otherwise then is `pending` until it is swept */
  @Patch(':app')
  @RequireRoleSomewhere('editor')
  @ApiOkResponse({ type: AppDto })
  async patch(
    @CurrentScope() scope: OrgScope,
    @Param('app') app: string,
    @Body() dto: PatchAppDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.apps.patch(scope, app, dto, ifMatch);
    return versioned(view, version);
  }

  /** Archive an app; its resources stay, and are `unmanaged` */
  @Post(':app/archive')
  @HttpCode(200)
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: AppDto })
  async archive(
    @CurrentScope() scope: OrgScope,
    @Param('app') app: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.apps.archive(scope, app, ifMatch);
    return versioned(view, version);
  }

  /** Make the registry what an app declares: all of it, or nothing */
  @Post(':app/reconcile')
  @HttpCode(200)
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: ReconciledDto })
  reconcile(@CurrentScope() scope: OrgScope, @Param('app') app: string): Promise<ReconciledDto> {
    return this.sweeps.sweep(scope, app);
  }
}
