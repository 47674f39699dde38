import { ApiProperty } from '@nestjs/swagger';

/** What was left out of an export. */
export class ExportLogsPartialSuccessDto {
  /** Log records that were not stored because they are invalid. A 64-bit integer, as text. */
  @ApiProperty({ pattern: '^[0-9]+$' })
  rejectedLogRecords!: string;

  /** What was wrong with them. */
  errorMessage!: string;
}

/** The answer to an export: ExportLogsServiceResponse of OTLP, in the encoding of the request. */
export class ExportLogsResponseDto {
  /** Only where something was left out. */
  partialSuccess?: ExportLogsPartialSuccessDto;
}
