import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { created, IfMatch, NotRepeatable, Reply, versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import {
  CreateDatasetDto,
  DatasetDto,
  DatasetListQueryDto,
  DatasetPageDto,
  DatasetSearchDto,
  PatchDatasetDto,
} from './dataset.dto';
import { DatasetService } from './dataset.service';

@ApiTags('Datasets')
@Controller('eval/v1/datasets')
@RequireWorkspace()
export class DatasetController {
  constructor(private readonly datasets: DatasetService) {}

  /** Create a dataset */
  @Post()
  @RequireRole('editor')
  @ApiCreatedResponse({ type: DatasetDto })
  async create(@CurrentScope() scope: Scope, @Body() dto: CreateDatasetDto): Promise<Reply> {
    const { view, version } = await this.datasets.create(scope, dto);
    return created(`/eval/v1/datasets/${view.dataset_id}`, view, version);
  }

  /** List datasets */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: DatasetPageDto })
  list(@CurrentScope() scope: Scope, @Query() query: DatasetListQueryDto): Promise<Page<DatasetDto>> {
    return this.datasets.list(scope, query);
  }

  /** Search datasets */
  @Post('search')
  @NotRepeatable()
  @HttpCode(200)
  @RequireRole('viewer')
  @ApiOkResponse({ type: DatasetPageDto })
  search(@CurrentScope() scope: Scope, @Body() dto: DatasetSearchDto): Promise<Page<DatasetDto>> {
    return this.datasets.search(scope, dto);
  }

  /** Get a dataset */
  @Get(':dataset_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: DatasetDto })
  async get(@CurrentScope() scope: Scope, @Param('dataset_id') id: string): Promise<Reply> {
    const { view, version } = await this.datasets.get(scope, id);
    return versioned(view, version);
  }

  /** Change a dataset */
  @Patch(':dataset_id')
  @RequireRole('editor')
  @ApiOkResponse({ type: DatasetDto })
  async patch(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') id: string,
    @Body() dto: PatchDatasetDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.datasets.patch(scope, id, dto, ifMatch);
    return versioned(view, version);
  }

  /** Archive a dataset */
  @Post(':dataset_id/archive')
  @HttpCode(200)
  @RequireRole('evaluator')
  @ApiOkResponse({ type: DatasetDto })
  async archive(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') id: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const { view, version } = await this.datasets.archive(scope, id, ifMatch);
    return versioned(view, version);
  }
}
