import { Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiExtraModels,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import {
  ApiBodies,
  created,
  ETAG_HEADER,
  IncomingBody,
  type IncomingRequest,
  MULTIPART_MEDIA,
  pathNumber,
  Reply,
  RequestBody,
  RequestSignal,
  versioned,
} from '#platform/http';
import { ListQueryDto, type Page } from '#platform/paging';
import { Throws } from '#platform/problem';
import { DeletionQueryDto } from '../../../resources';
import { DatasetReadingService } from './dataset-reading.service';
import { CSV_MEDIA, JSON_MEDIA, uploadLimit } from './dataset-upload';
import {
  CreateDatasetVersionDto,
  type DatasetCaseDto,
  DatasetCaseListQueryDto,
  DatasetCasePageDto,
  DatasetVersionDto,
  DatasetVersionPageDto,
  DatasetVersionPreviewDto,
  DatasetVersionUploadQueryDto,
  MAPPING_DESCRIPTION,
} from './dataset-version.dto';
import { DatasetVersionService } from './dataset-version.service';

const KIND = 'dataset version';

@ApiTags('Dataset versions')
@Controller('eval/v1/datasets/:dataset_id/versions')
@RequireWorkspace()
export class DatasetVersionController {
  constructor(
    private readonly versions: DatasetVersionService,
    private readonly reading: DatasetReadingService,
  ) {}

  /**
   * Upload a CSV file as a version of a dataset
   *
   * @remarks A mapping assigns columns to the parts of a case. A list of columns makes an object, and a column name instead of a list makes the cell itself the value. Columns that it does not name become `metadata`, or form `input` if it names none for `input`. Without a mapping, the columns `input`, `tags`, `metadata`, and the first of `expected`, `expected_output`, `ground_truth`, `answer`, `reference`, `reference_answer`, `target` and `ideal` are recognized by their names; all others become `metadata`, or form `input` if there is no column `input`. With `dry_run=true`, the whole file is read and checked, but nothing is stored: the response shows what each column becomes, the first five cases, and warnings.
   */
  @Post()
  @Throws('storage_unavailable')
  @RequireRole('editor')
  @RequestBody({
    kind: 'streamed',
    media: [CSV_MEDIA, MULTIPART_MEDIA, JSON_MEDIA],
    limit: ({ BODY_LIMIT_BYTES }, media) => uploadLimit(BODY_LIMIT_BYTES, media),
  })
  @ApiExtraModels(CreateDatasetVersionDto, DatasetVersionDto, DatasetVersionPreviewDto)
  @ApiBodies({
    [CSV_MEDIA]: { type: 'string', description: 'The file, in UTF-8. Options go in the query.' },
    [MULTIPART_MEDIA]: {
      type: 'object',
      properties: {
        file: { type: 'string', contentMediaType: CSV_MEDIA },
        workspace_id: { type: 'string' },
        case_id_column: { type: 'string' },
        mapping: { type: 'string', contentMediaType: JSON_MEDIA, description: MAPPING_DESCRIPTION },
      },
      required: ['file'],
    },
    [JSON_MEDIA]: { $ref: getSchemaPath(CreateDatasetVersionDto) },
  })
  @ApiCreatedResponse({ type: DatasetVersionDto, headers: ETAG_HEADER })
  @ApiOkResponse({
    schema: {
      oneOf: [{ $ref: getSchemaPath(DatasetVersionDto) }, { $ref: getSchemaPath(DatasetVersionPreviewDto) }],
    },
    headers: { ETag: { ...ETAG_HEADER.ETag, required: false } },
    description:
      'The existing version with the same bytes and options. With `dry_run=true`: what the file would become, without `ETag`.',
  })
  async create(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @IncomingBody() body: IncomingRequest,
    @Query() query: DatasetVersionUploadQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    if (query.dry_run)
      return new Reply(200, await this.versions.preview(scope, datasetId, body, query, signal));
    const { view, isNew } = await this.versions.upload(scope, datasetId, body, query, signal);
    const { version } = view;
    return isNew
      ? created(`/eval/v1/datasets/${datasetId}/versions/${version}`, view, version)
      : versioned(view, version);
  }

  /** List a dataset's CSV versions */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: DatasetVersionPageDto })
  list(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Query() query: ListQueryDto,
  ): Promise<Page<DatasetVersionDto>> {
    return this.versions.list(scope, datasetId, query);
  }

  /** Get a CSV version */
  @Get(':version')
  @RequireRole('viewer')
  @ApiOkResponse({ type: DatasetVersionDto })
  async get(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Param('version') version: string,
  ): Promise<Reply> {
    const view = await this.versions.get(scope, datasetId, pathNumber(version, KIND));
    return versioned(view, view.version);
  }

  /** Get the content of a CSV version */
  @Get(':version/content')
  @RequireRole('viewer')
  @ApiOkResponse({
    description: 'The uploaded bytes. A response that fails midway is truncated.',
    content: { [CSV_MEDIA]: { schema: { type: 'string' } } },
    headers: {
      'Repr-Digest': {
        description: 'SHA-256 of the complete content (RFC 9530).',
        schema: { type: 'string' },
      },
      'Content-Disposition': { description: 'The file name to save under.', schema: { type: 'string' } },
    },
  })
  getContent(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Param('version') version: string,
  ): Promise<Reply> {
    return this.reading.bytes(scope, datasetId, pathNumber(version, KIND));
  }

  /** List the rows of a CSV version, as cases */
  @Get(':version/rows')
  @RequireRole('viewer')
  @ApiOkResponse({ type: DatasetCasePageDto })
  listRows(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Param('version') version: string,
    @Query() query: DatasetCaseListQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<DatasetCaseDto>> {
    return this.reading.cases(scope, datasetId, pathNumber(version, KIND), query, signal);
  }

  /** Delete a CSV version and its file */
  @Delete(':version')
  @HttpCode(204)
  @Throws('conflict')
  @RequireRole('admin')
  @ApiNoContentResponse()
  delete(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Param('version') version: string,
    @Query() { force }: DeletionQueryDto,
  ): Promise<void> {
    return this.versions.delete(scope, datasetId, pathNumber(version, KIND), { force });
  }
}
