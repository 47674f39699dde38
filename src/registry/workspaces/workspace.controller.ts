import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRole, RequireRoleSomewhere } from '#platform/auth';
import { created, IfMatch, type Reply, type Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { LifecycleController } from '../../resources';
import {
  CreateWorkspaceDto,
  PatchWorkspaceDto,
  WorkspaceDto,
  WorkspaceListQueryDto,
  WorkspacePageDto,
} from './workspace.dto';
import { WorkspaceService } from './workspace.service';

@ApiTags('Workspaces')
@Controller('registry/v1/workspaces')
export class WorkspaceController extends LifecycleController({
  param: 'workspace_id',
  view: WorkspaceDto,
  archive: { summary: 'Archive a workspace' },
  restore: { summary: 'Restore an archived workspace' },
  delete: {
    summary: 'Delete an archived workspace, with everything in it',
    description: 'Needs the role `admin` in the workspace.',
    isErasure: true,
  },
}) {
  constructor(private readonly workspaces: WorkspaceService) {
    super(workspaces);
  }

  /** Create a workspace */
  @Post()
  @RequireRole('admin')
  @ApiCreatedResponse({ type: WorkspaceDto })
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateWorkspaceDto): Promise<Reply> {
    const workspace = await this.workspaces.create(scope, dto);
    return created(`/registry/v1/workspaces/${workspace.view.workspace_id}`, workspace);
  }

  /** List the workspaces that the caller may read */
  @Get()
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: WorkspacePageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: WorkspaceListQueryDto): Promise<Page<WorkspaceDto>> {
    return this.workspaces.list(scope, query);
  }

  /** Get a workspace */
  @Get(':workspace_id')
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: WorkspaceDto })
  get(@CurrentScope() scope: OrgScope, @Param('workspace_id') id: string): Promise<Versioned<WorkspaceDto>> {
    return this.workspaces.get(scope, id);
  }

  /** Change a workspace */
  @Patch(':workspace_id')
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: WorkspaceDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('workspace_id') id: string,
    @Body() dto: PatchWorkspaceDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<WorkspaceDto>> {
    return this.workspaces.patch(scope, id, dto, ifMatch);
  }
}
