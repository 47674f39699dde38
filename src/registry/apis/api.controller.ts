import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, IfMatch, pathNumber, type Reply, type Versioned } from '#platform/http';
import { ListQueryDto, type Page } from '#platform/paging';
import { DeleteRoute, DeletionQueryDto, LifecycleController } from '../../resources';
import {
  ApiDto,
  ApiListQueryDto,
  ApiPageDto,
  ApiVersionDto,
  ApiVersionPageDto,
  CreateApiDto,
  PatchApiDto,
} from './api.dto';
import { ApiService } from './api.service';

@ApiTags('APIs')
@Controller('registry/v1/apis')
export class ApiController extends LifecycleController({
  param: 'api_id',
  view: ApiDto,
  archive: { summary: 'Archive a registered API and delete its secret' },
  restore: { summary: 'Restore an archived API, without its deleted secret' },
  delete: { summary: 'Delete an archived registered API' },
}) {
  constructor(private readonly apis: ApiService) {
    super(apis);
  }

  /** Register an HTTP API */
  @Post()
  @RequireRoleSomewhere('admin')
  @ApiCreatedResponse({ type: ApiDto })
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateApiDto): Promise<Reply> {
    const api = await this.apis.create(scope, dto);
    return created(`/registry/v1/apis/${api.view.api_id}`, api);
  }

  /** List registered APIs */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ApiPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: ApiListQueryDto): Promise<Page<ApiDto>> {
    return this.apis.list(scope, query);
  }

  /** Get a registered API */
  @Get(':api_id')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ApiDto })
  get(@CurrentScope() scope: OrgScope, @Param('api_id') id: string): Promise<Versioned<ApiDto>> {
    return this.apis.get(scope, id);
  }

  /**
   * Change a registered API
   *
   * @remarks An API that an app declares is `drifted` after a change, until the app is reconciled.
   */
  @Patch(':api_id')
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: ApiDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('api_id') id: string,
    @Body() dto: PatchApiDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<ApiDto>> {
    return this.apis.patch(scope, id, dto, ifMatch);
  }

  /** List the versions of a registered API */
  @Get(':api_id/versions')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ApiVersionPageDto })
  listVersions(
    @CurrentScope() scope: OrgScope,
    @Param('api_id') id: string,
    @Query() query: ListQueryDto,
  ): Promise<Page<ApiVersionDto>> {
    return this.apis.listVersions(scope, id, query);
  }

  /** Get one version of a registered API */
  @Get(':api_id/versions/:version_ordinal')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ApiVersionDto })
  getVersion(
    @CurrentScope() scope: OrgScope,
    @Param('api_id') id: string,
    @Param('version_ordinal') ordinal: string,
  ): Promise<Versioned<ApiVersionDto>> {
    return this.apis.getVersion(scope, id, pathNumber(ordinal, 'API version'));
  }

  /**
   * Delete a version of a registered API
   *
   * @remarks Not the newest version (409).
   */
  @DeleteRoute(':api_id/versions/:version_ordinal')
  deleteVersion(
    @CurrentScope() scope: OrgScope,
    @Param('api_id') id: string,
    @Param('version_ordinal') ordinal: string,
    @Query() { force }: DeletionQueryDto,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    return this.apis.deleteVersion(scope, id, pathNumber(ordinal, 'API version'), { force, ifMatch });
  }
}
