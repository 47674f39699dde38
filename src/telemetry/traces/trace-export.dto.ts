import { ApiProperty } from '@nestjs/swagger';

/** What was left out of an export. */
export class ExportTracePartialSuccessDto {
  /** Spans that were not stored because they are invalid. A 64-bit integer, as text. */
  @ApiProperty({ pattern: '^[0-9]+$' })
  rejectedSpans!: string;

  /** What was wrong with them. */
  errorMessage!: string;
}

/** The answer to an export: ExportTraceServiceResponse of OTLP, in the encoding of the request. */
export class ExportTraceResponseDto {
  /** Only where something was left out. */
  partialSuccess?: ExportTracePartialSuccessDto;
}
