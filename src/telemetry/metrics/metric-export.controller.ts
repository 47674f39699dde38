import { Controller, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { encodeExportMetricsResponse } from '#otlp';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { Reply, RequestSignal } from '#platform/http';
import { type OtlpBody, OtlpContent, TakesOtlp } from '../otlp-http/otlp-body.decorator';
import { mediaOf } from '../otlp-http/otlp-media';
import { ExportMetricsResponseDto } from './metric-export.dto';
import { MetricExportService } from './metric-export.service';

@ApiTags('Telemetry')
@Controller('telemetry/v1/metrics')
@RequireWorkspace()
export class MetricExportController {
  constructor(private readonly exports: MetricExportService) {}

  /** Export metrics (OTLP/HTTP) */
  @Post()
  @HttpCode(200)
  @RequireRole('editor', 'runtime')
  @TakesOtlp('ExportMetricsServiceRequest', ExportMetricsResponseDto)
  async export(
    @CurrentScope() scope: Scope,
    @OtlpContent() body: OtlpBody,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const { count, reasons } = await this.exports.export(scope, body, signal);
    const partial = { rejectedDataPoints: count, errorMessage: reasons.join(' ') };
    return new Reply(200, encodeExportMetricsResponse(body.encoding, partial), {
      'Content-Type': mediaOf(body.encoding),
    });
  }
}
