import { Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import {
  ApiBodies,
  LongRunning,
  Reply,
  RequestBody,
  RequestSignal,
  SpooledBody,
  type SpooledRequest,
} from '#platform/http';
import { RecordImportService } from './record-import.service';
import { RecordExportService } from './record-export.service';
import { EXPORT_MEDIA } from './export-formats';
import {
  IMPORT_MEDIA,
  ImportVersionDto,
  RecordExportQueryDto,
  RecordImportDto,
  RecordImportQueryDto,
} from './record-transfer.dto';

const JSON_MEDIA = 'application/json';
/** Maximum body of an import, in bytes. A JSON body only names a version. */
const IMPORT_MAX_BYTES = 32 * 1024 * 1024;
const JSON_MAX_BYTES = 64 * 1024;

const TEXT = { schema: { type: 'string' } } as const;
const JSON_LINES = {
  type: 'string',
  description: 'One record per line, as an export writes them. At most 32 MiB and 100,000 records.',
};

/** Registered before `RecordController`, which would take `export` for the id of a record. */
@ApiTags('Records')
@Controller('eval/v1/datasets/:dataset_id/records')
@RequireWorkspace()
export class RecordTransferController {
  constructor(
    private readonly exports: RecordExportService,
    private readonly imports: RecordImportService,
  ) {}

  /** Export a dataset's records */
  @Get('export')
  @RequireRole('viewer')
  @ApiOkResponse({
    description: 'The records at the time the response begins, oldest first.',
    content: { [EXPORT_MEDIA.jsonl]: TEXT, [EXPORT_MEDIA.csv]: TEXT },
    headers: {
      'Content-Disposition': { description: 'The suggested file name.', schema: { type: 'string' } },
    },
  })
  export(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Query() query: RecordExportQueryDto,
  ): Promise<Reply> {
    return this.exports.export(scope, datasetId, query);
  }

  /** Import records, all or none */
  @Post('import')
  @HttpCode(200)
  @RequireRole('editor')
  @LongRunning(() => true, ({ IMPORT_TIMEOUT_MS }) => IMPORT_TIMEOUT_MS)
  @RequestBody({
    kind: 'file',
    media: [...IMPORT_MEDIA, JSON_MEDIA],
    limit: (_, media) => (media === JSON_MEDIA ? JSON_MAX_BYTES : IMPORT_MAX_BYTES),
  })
  @ApiExtraModels(ImportVersionDto)
  @ApiBodies({
    ...Object.fromEntries(IMPORT_MEDIA.map((media) => [media, JSON_LINES])),
    [EXPORT_MEDIA.csv]: {
      type: 'string',
      description:
        'CSV with the columns of an export, or with columns that are recognized as in a CSV version without a mapping. The same limits apply.',
    },
    [JSON_MEDIA]: { $ref: getSchemaPath(ImportVersionDto) },
  })
  @ApiOkResponse({ type: RecordImportDto })
  import(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @SpooledBody() body: SpooledRequest,
    @Query() query: RecordImportQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<RecordImportDto> {
    return this.imports.import(scope, datasetId, body, query, signal);
  }
}
