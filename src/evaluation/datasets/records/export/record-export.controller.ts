import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import type { Reply } from '#platform/http';
import { RecordExportQueryDto } from '../record-transfer.dto';
import { EXPORT_MEDIA } from '../transfer-formats';
import { RecordExportService } from './record-export.service';

const TEXT = { schema: { type: 'string' } } as const;

/** Registered before `RecordController`, which would take `export` for the id of a record. */
@ApiTags('Records')
@Controller('eval/v1/datasets/:dataset_id/records')
@RequireWorkspace()
export class RecordExportController {
  constructor(private readonly exports: RecordExportService) {}

  /** Export a dataset's records */
  @Get('export')
  @RequireRole('viewer')
  @ApiOkResponse({
    description: 'The records at the time the response begins, oldest first.',
    content: { [EXPORT_MEDIA.jsonl]: TEXT, [EXPORT_MEDIA.csv]: TEXT },
    headers: {
      'Content-Disposition': { description: 'The file name to save under.', schema: { type: 'string' } },
    },
  })
  export(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Query() query: RecordExportQueryDto,
  ): Promise<Reply> {
    return this.exports.export(scope, datasetId, query);
  }
}
