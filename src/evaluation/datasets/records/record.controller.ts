import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import {
  created,
  IfMatch,
  pathNumber,
  type Reply,
  RequestSignal,
  versioned,
  type Versioned,
} from '#platform/http';
import { ListQueryDto, type Page } from '#platform/paging';
import { Throws } from '#platform/problem';
import { DeletionQueryDto } from '../../../resources';
import { RecordBulkService } from './record-bulk.service';
import {
  BulkRecordsResponseDto,
  BulkRecordsDto,
  CreateRecordDto,
  PatchRecordDto,
  RecordDto,
  RecordListQueryDto,
  RecordPageDto,
  RecordVersionDto,
  RecordVersionPageDto,
} from './record.dto';
import { RecordFromTracesService } from './record-from-traces.service';
import { RecordsFromTracesResponseDto, RecordsFromTracesDto } from './record-from-traces.dto';
import { RecordService } from './record.service';

@ApiTags('Records')
@Controller('eval/v1/datasets/:dataset_id/records')
@RequireWorkspace()
export class RecordController {
  constructor(
    private readonly records: RecordService,
    private readonly bulk: RecordBulkService,
    private readonly fromTraces: RecordFromTracesService,
  ) {}

  /** Create a record */
  @Post()
  @RequireRole('editor')
  @ApiCreatedResponse({ type: RecordDto })
  async create(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Body() dto: CreateRecordDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const record = await this.records.create(scope, datasetId, dto, signal);
    return created(`/eval/v1/datasets/${datasetId}/records/${record.view.dataset_record_id}`, record);
  }

  /** Create up to 100 records */
  @Post('bulk')
  @HttpCode(207)
  @RequireRole('editor')
  @ApiResponse({
    status: 207,
    type: BulkRecordsResponseDto,
    description:
      'The outcome of each item, in the order sent. With `skip` and `update`, the response holds up to 16 MiB of existing records. Items beyond that get 413. Send them in another request.',
  })
  async createBulk(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Body() dto: BulkRecordsDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<BulkRecordsResponseDto> {
    return { items: await this.bulk.create(scope, datasetId, dto, signal) };
  }

  /** Create records from traces */
  @Post('from-traces')
  @HttpCode(207)
  @RequireRole('editor')
  @ApiResponse({
    status: 207,
    type: RecordsFromTracesResponseDto,
    description:
      'The outcome of each trace. A record gets the `input` that scorers see of the trace, the trace id as `source_ref` and `external_id`, and `root_name`, `service_name`, `session_id` and `started_at` in `metadata`. A trace without input gets 400, and so does a record that violates a schema of the dataset, with pointers into the record. Traces after the first 8 MiB get 413. Send them in another request.',
  })
  @Throws('conflict')
  async createFromTraces(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Body() dto: RecordsFromTracesDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<RecordsFromTracesResponseDto> {
    return { items: await this.fromTraces.create(scope, datasetId, dto, signal) };
  }

  /** List a dataset's records */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: RecordPageDto })
  list(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Query() query: RecordListQueryDto,
  ): Promise<Page<RecordDto>> {
    return this.records.list(scope, datasetId, query);
  }

  /** Get a record */
  @Get(':dataset_record_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: RecordDto })
  get(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Param('dataset_record_id') id: string,
  ): Promise<Versioned<RecordDto>> {
    return this.records.get(scope, datasetId, id);
  }

  /** Change a record, which creates a new version */
  @Patch(':dataset_record_id')
  @RequireRole('editor')
  @ApiOkResponse({ type: RecordDto })
  patch(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Param('dataset_record_id') id: string,
    @Body() dto: PatchRecordDto,
    @RequestSignal() signal: AbortSignal,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<RecordDto>> {
    return this.records.patch(scope, datasetId, id, dto, signal, ifMatch);
  }

  /** Archive a record */
  @Post(':dataset_record_id/archive')
  @HttpCode(200)
  @RequireRole('evaluator')
  @ApiOkResponse({ type: RecordDto })
  archive(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Param('dataset_record_id') id: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<RecordDto>> {
    return this.records.archive(scope, datasetId, id, ifMatch);
  }

  /** Restore an archived record */
  @Post(':dataset_record_id/restore')
  @HttpCode(200)
  @RequireRole('evaluator')
  @ApiOkResponse({ type: RecordDto })
  restore(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Param('dataset_record_id') id: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<RecordDto>> {
    return this.records.restore(scope, datasetId, id, ifMatch);
  }

  /** Delete a record and all its versions */
  @Delete(':dataset_record_id')
  @HttpCode(204)
  @Throws('conflict')
  @RequireRole('admin')
  @ApiNoContentResponse()
  delete(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Param('dataset_record_id') id: string,
    @Query() { force }: DeletionQueryDto,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    return this.records.delete(scope, datasetId, id, { force, ifMatch });
  }

  /** List the versions of a record */
  @Get(':dataset_record_id/versions')
  @RequireRole('viewer')
  @ApiOkResponse({ type: RecordVersionPageDto })
  listVersions(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Param('dataset_record_id') id: string,
    @Query() query: ListQueryDto,
  ): Promise<Page<RecordVersionDto>> {
    return this.records.listVersions(scope, datasetId, id, query);
  }

  /** Get one version of a record */
  @Get(':dataset_record_id/versions/:version')
  @RequireRole('viewer')
  @ApiOkResponse({ type: RecordVersionDto })
  async getVersion(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Param('dataset_record_id') id: string,
    @Param('version') version: string,
  ): Promise<Reply> {
    const record = await this.records.getVersion(scope, datasetId, id, pathNumber(version, 'record version'));
    return versioned(record.view, record.version);
  }
}
