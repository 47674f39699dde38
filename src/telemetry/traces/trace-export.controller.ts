import { Controller, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { encodeExportTraceResponse } from '#otlp';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { Reply, RequestSignal } from '#platform/http';
import { type OtlpBody, OtlpContent, TakesOtlp } from '../otlp-http/otlp-body.decorator';
import { mediaOf } from '../otlp-http/otlp-media';
import { ExportTraceResponseDto } from './trace-export.dto';
import { TraceExportService } from './trace-export.service';

@ApiTags('Telemetry')
@Controller('telemetry/v1/traces')
@RequireWorkspace()
export class TraceExportController {
  constructor(private readonly exports: TraceExportService) {}

  /** Export traces (OTLP/HTTP) */
  @Post()
  @HttpCode(200)
  @RequireRole('editor', 'runtime')
  @TakesOtlp('ExportTraceServiceRequest', ExportTraceResponseDto)
  async export(
    @CurrentScope() scope: Scope,
    @OtlpContent() body: OtlpBody,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const { count, reasons } = await this.exports.export(scope, body, signal);
    const partial = { rejectedSpans: count, errorMessage: reasons.join(' ') };
    return new Reply(200, encodeExportTraceResponse(body.encoding, partial), {
      'Content-Type': mediaOf(body.encoding),
    });
  }
}
