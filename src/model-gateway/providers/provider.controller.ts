import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, IfMatch, type Reply, type Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { LifecycleController } from '../../resources';
import {
  CreateModelProviderDto,
  ModelProviderDto,
  ModelProviderListQueryDto,
  ModelProviderPageDto,
  PatchModelProviderDto,
} from './provider.dto';
import { ProviderService } from './provider.service';

@ApiTags('Model gateway')
@Controller('model/v1/providers')
export class ModelProviderController extends LifecycleController({
  param: 'provider_id',
  view: ModelProviderDto,
  archive: {
    summary: 'Archive a model provider and delete its key',
    description: 'Models keep it as a target, but cannot call it.',
  },
  restore: { summary: 'Restore an archived model provider, without its deleted key' },
  delete: { summary: 'Delete an archived model provider' },
}) {
  constructor(private readonly providers: ProviderService) {
    super(providers);
  }

  /** Register a model provider */
  @Post()
  @RequireRoleSomewhere('admin')
  @ApiCreatedResponse({ type: ModelProviderDto })
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateModelProviderDto): Promise<Reply> {
    const provider = await this.providers.create(scope, dto);
    return created(`/model/v1/providers/${provider.view.provider_id}`, provider);
  }

  /** List model providers */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ModelProviderPageDto })
  list(
    @CurrentScope() scope: OrgScope,
    @Query() query: ModelProviderListQueryDto,
  ): Promise<Page<ModelProviderDto>> {
    return this.providers.list(scope, query);
  }

  /** Get a model provider */
  @Get(':provider_id')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ModelProviderDto })
  get(
    @CurrentScope() scope: OrgScope,
    @Param('provider_id') id: string,
  ): Promise<Versioned<ModelProviderDto>> {
    return this.providers.get(scope, id);
  }

  /** Change a model provider */
  @Patch(':provider_id')
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: ModelProviderDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('provider_id') id: string,
    @Body() dto: PatchModelProviderDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<ModelProviderDto>> {
    return this.providers.patch(scope, id, dto, ifMatch);
  }
}
