import { Controller, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import {
  ApiBodies,
  IncomingBody,
  type IncomingRequest,
  RequestBody,
  RequestSignal,
  TakesAsLongAsImports,
} from '#platform/http';
import { Throws } from '#platform/problem';
import { RecordImportService } from './record-import.service';
import { EXPORT_MEDIA } from '../transfer-formats';
import {
  IMPORT_MEDIA,
  ImportVersionDto,
  RecordImportDto,
  RecordImportQueryDto,
} from '../record-transfer.dto';

const JSON_MEDIA = 'application/json';
/** Maximum body of an import, in bytes. A JSON body only names a version. */
const IMPORT_MAX_BYTES = 32 * 1024 * 1024;
const JSON_MAX_BYTES = 64 * 1024;

const JSON_LINES = {
  type: 'string',
  description: 'One record per line, as an export writes them. At most 32 MiB and 100,000 records.',
};

@ApiTags('Records')
@Controller('eval/v1/datasets/:dataset_id/records')
@RequireWorkspace()
export class RecordImportController {
  constructor(private readonly imports: RecordImportService) {}

  /** Import records, all or none */
  @Post('import')
  @HttpCode(200)
  @Throws('storage_unavailable')
  @RequireRole('editor')
  @TakesAsLongAsImports()
  @RequestBody({
    kind: 'streamed',
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
    @IncomingBody() body: IncomingRequest,
    @Query() query: RecordImportQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<RecordImportDto> {
    return this.imports.import(scope, datasetId, body, query, signal);
  }
}
