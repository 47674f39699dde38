import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { Reply } from '#platform/http';
import { RecordExportService } from './record-export.service';
import { EXPORT_MEDIA, RecordExportQueryDto } from './record-transfer.dto';

const TEXT = { schema: { type: 'string' } } as const;

/** Before `RecordController`, which would take `export` for the id of a record. */
@ApiTags('Records')
@Controller('eval/v1/datasets/:dataset_id/records')
@RequireWorkspace()
export class RecordTransferController {
  constructor(private readonly exports: RecordExportService) {}

  /** Export a dataset's records */
  @Get('export')
  @RequireRole('viewer')
  @ApiOkResponse({
    description: 'The records as they stand at the beginning of the answer, oldest first.',
    content: { [EXPORT_MEDIA.jsonl]: TEXT, [EXPORT_MEDIA.csv]: TEXT },
  })
  export(
    @CurrentScope() scope: Scope,
    @Param('dataset_id') datasetId: string,
    @Query() query: RecordExportQueryDto,
  ): Promise<Reply> {
    return this.exports.export(scope, datasetId, query);
  }
}
