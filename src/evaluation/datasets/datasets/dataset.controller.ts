import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import {
  created,
  IfMatch,
  type Reply,
  RequestBody,
  RequestSignal,
  SELECTION_MAX_BYTES,
  type Versioned,
} from '#platform/http';
import type { Page } from '#platform/paging';
import { CreatesNamed, CreationQueryDto, LifecycleController } from '../../../resources';
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
export class DatasetController extends LifecycleController({
  param: 'dataset_id',
  view: DatasetDto,
  access: RequireRole('evaluator'),
  archive: { summary: 'Archive a dataset' },
  restore: { summary: 'Restore an archived dataset' },
  delete: { summary: 'Delete an archived dataset', access: RequireRole('admin'), isErasure: true },
}) {
  constructor(private readonly datasets: DatasetService) {
    super(datasets);
  }

  /** Create a dataset */
  @Post()
  @RequireRole('editor')
  @CreatesNamed(DatasetDto)
  async create(
    @CurrentScope() scope: Scope,
    @Body() dto: CreateDatasetDto,
    @Query() { on_conflict }: CreationQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const dataset = await this.datasets.create(scope, dto, signal, on_conflict);
    return created(`/eval/v1/datasets/${dataset.view.dataset_id}`, dataset);
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
  @HttpCode(200)
  @RequireRole('viewer')
  @RequestBody({ limit: SELECTION_MAX_BYTES })
  @ApiOkResponse({ type: DatasetPageDto })
  search(@CurrentScope() scope: Scope, @Body() dto: DatasetSearchDto): Promise<Page<DatasetDto>> {
    return this.datasets.search(scope, dto);
  }

  /** Get a dataset */
  @Get(':dataset_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: DatasetDto })
  get(@CurrentScope() scope: Scope, @Param('dataset_id') id: string): Promise<Versioned<DatasetDto>> {
    return this.datasets.get(scope, id);
  }

  /** Change a dataset */
  @Patch(':dataset_id')
  @RequireRole('editor')
  @ApiOkResponse({ type: DatasetDto })
  patch(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') id: string,
    @Body() dto: PatchDatasetDto,
    @RequestSignal() signal: AbortSignal,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<DatasetDto>> {
    return this.datasets.patch(scope, id, dto, signal, ifMatch);
  }
}
