import { ApiProperty } from '@nestjs/swagger';

/** What was left out of an export. */
export class ExportMetricsPartialSuccessDto {
  /** Data points that were not stored because they are invalid. A 64-bit integer, as text. */
  @ApiProperty({ pattern: '^[0-9]+$' })
  rejectedDataPoints!: string;

  /** What was wrong with them. */
  errorMessage!: string;
}

/** The answer to an export: ExportMetricsServiceResponse of OTLP, in the encoding of the request. */
export class ExportMetricsResponseDto {
  /** Only where something was left out. */
  partialSuccess?: ExportMetricsPartialSuccessDto;
}
