import { Controller, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { encodeExportLogsResponse } from '#otlp';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { Reply, RequestSignal } from '#platform/http';
import { type OtlpBody, OtlpContent, TakesOtlp } from '../otlp-http/otlp-body.decorator';
import { mediaOf } from '../otlp-http/otlp-media';
import { ExportLogsResponseDto } from './log-export.dto';
import { LogExportService } from './log-export.service';

@ApiTags('Telemetry')
@Controller('telemetry/v1/logs')
@RequireWorkspace()
export class LogExportController {
  constructor(private readonly exports: LogExportService) {}

  /** Export logs (OTLP/HTTP) */
  @Post()
  @HttpCode(200)
  @RequireRole('editor', 'runtime')
  @TakesOtlp('ExportLogsServiceRequest', ExportLogsResponseDto)
  async export(
    @CurrentScope() scope: Scope,
    @OtlpContent() body: OtlpBody,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const { count, reasons } = await this.exports.export(scope, body, signal);
    const partial = { rejectedLogRecords: count, errorMessage: reasons.join(' ') };
    return new Reply(200, encodeExportLogsResponse(body.encoding, partial), {
      'Content-Type': mediaOf(body.encoding),
    });
  }
}
