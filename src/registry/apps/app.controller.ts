import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, IfMatch, NotRepeatable, Reply, type Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { CreatesNamed, CreationQueryDto, LifecycleController } from '../../resources';
import {
  AppDto,
  AppListQueryDto,
  AppPageDto,
  AppPlanDto,
  CreateAppDto,
  PatchAppDto,
  ReconcileResultDto,
} from './app.dto';
import { AppService } from './app.service';
import { AppReconcileService } from './app-reconcile.service';

@ApiTags('Apps')
@Controller('registry/v1/apps')
export class AppController extends LifecycleController({
  param: 'app',
  view: AppDto,
  archive: {
    summary: 'Archive an app',
    description: 'Its resources stay, and become `unmanaged`.',
  },
  restore: {
    summary: 'Restore an archived app',
    description:
      'The app takes back the resources that it owned, unless they are archived or no longer `unmanaged`.',
  },
  delete: { summary: 'Delete an archived app' },
}) {
  constructor(
    private readonly apps: AppService,
    private readonly reconciles: AppReconcileService,
  ) {
    super(apps);
  }

  /** Declare an app, which the next reconcile applies */
  @Post()
  @RequireRoleSomewhere('editor')
  @CreatesNamed(AppDto)
  async create(
    @CurrentScope() scope: OrgScope,
    @Body() dto: CreateAppDto,
    @Query() { on_conflict }: CreationQueryDto,
  ): Promise<Reply> {
    const app = await this.apps.create(scope, dto, on_conflict);
    return created(`/registry/v1/apps/${app.view.app}`, app);
  }

  /** List apps */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: AppPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: AppListQueryDto): Promise<Page<AppDto>> {
    return this.apps.list(scope, query);
  }

  /** Get an app by its slug or its id */
  @Get(':app')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: AppDto })
  get(@CurrentScope() scope: OrgScope, @Param('app') app: string): Promise<Versioned<AppDto>> {
    return this.apps.get(scope, app);
  }

  /**
   * Change an app
   *
   * @remarks Resources whose declarations change are `pending` until the next reconcile.
   */
  @Patch(':app')
  @RequireRoleSomewhere('editor')
  @ApiOkResponse({ type: AppDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('app') app: string,
    @Body() dto: PatchAppDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<AppDto>> {
    return this.apps.patch(scope, app, dto, ifMatch);
  }

  /** Reconcile an app: create, restore, update and archive its resources in one transaction */
  @Post(':app/reconcile')
  @Throws('payload_too_large', 'storage_unavailable', 'validation_failed')
  @HttpCode(200)
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: ReconcileResultDto })
  async reconcile(@CurrentScope() scope: OrgScope, @Param('app') app: string): Promise<Reply> {
    const { workspaceId, reconciled } = await this.reconciles.reconcile(scope, app);
    return new Reply(200, reconciled, {}, workspaceId);
  }

  /**
   * Show what a reconcile of an app would do now, without doing it
   *
   * @remarks Returns the same 422 as a reconcile for declarations that cannot be applied, but does not set `sync_error` of the app.
   */
  @Post(':app/plan')
  @Throws('conflict', 'validation_failed')
  @HttpCode(200)
  @NotRepeatable()
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: AppPlanDto })
  plan(@CurrentScope() scope: OrgScope, @Param('app') app: string): Promise<AppPlanDto> {
    return this.reconciles.plan(scope, app);
  }
}
