import { ApiProperty } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { SEVERITIES } from '#otlp';
import { AnyJson, IsOneOf, NotNull, IsOptionalText } from '#platform/http';
import { PageOf, SortedBy } from '#platform/paging';
import { RecordListQueryDto } from '../list-query.dto';
import { RecordDto } from '../records/record.dto';

/** A log record. It has no id, because OpenTelemetry defines none. */
export class LogRecordDto extends RecordDto {
  /** The time that lists are sorted by: `occurred_at`, else `observed_at`, else the time of arrival. */
  logged_at!: Date;
  /** When the event happened; null if the sender sent no time. */
  occurred_at!: Date | null;
  /** When the event was observed; null if the sender sent no time. */
  observed_at!: Date | null;
  /** Severity number of OpenTelemetry, 1 to 24; 0 if the sender sent none. */
  @ApiProperty({ type: 'integer', minimum: 0, maximum: 24 })
  severity_number!: number;
  /** Short name of the severity. */
  @ApiProperty({ enum: [...SEVERITIES] })
  severity!: string;
  /** The severity as its source names it. */
  severity_text!: string | null;
  /** Name of the event that the record describes, else its attribute `event.name`. */
  event_name!: string | null;
  @AnyJson({ description: 'The body as sent; null if the record has none.' })
  body!: unknown;
  /** 32 lower-case hexadecimal digits. */
  trace_id!: string | null;
  /** 16 lower-case hexadecimal digits. */
  span_id!: string | null;
}

export class LogRecordPageDto extends PageOf(LogRecordDto) {}

/** A log record as the repository reads it. */
export type LogRecordRow = Omit<LogRecordDto, 'severity'>;

export const toLogRecordDto = (row: LogRecordRow): LogRecordDto => ({
  ...row,
  severity: SEVERITIES[row.severity_number] ?? SEVERITIES[0],
});

const TEXT_MAX = 200;

/** Names and numbers of severities, except `unspecified`. */
const SEVERITY_NAMES = SEVERITIES.slice(1);
const SEVERITY_NUMBERS = SEVERITY_NAMES.map((_, index) => String(index + 1));

/** The log records to list. */
@SortedBy('logged_at')
export class LogListQueryDto extends RecordListQueryDto {
  /** Only records of this trace: 32 lower-case hexadecimal digits. */
  @NotNull()
  @Matches(/^[0-9a-f]{32}$/, { message: 'must be 32 lower-case hexadecimal digits' })
  trace_id?: string;

  @NotNull()
  @IsOneOf([...SEVERITY_NAMES, ...SEVERITY_NUMBERS], {
    required: false,
    description: 'Minimum severity: its short name, or its number in OpenTelemetry.',
  })
  severity?: string;

  /** Text that the body contains. Case-insensitive. */
  @IsOptionalText(TEXT_MAX)
  q?: string;
}

/** Returns the number of a query's severity; 0 if it has none. */
export function severityNumberOf({ severity }: LogListQueryDto): number {
  if (severity === undefined) return 0;
  return SEVERITY_NUMBERS.includes(severity) ? Number(severity) : SEVERITY_NAMES.indexOf(severity) + 1;
}

/** The invalid records of an export, which are not stored. */
export class ExportLogsPartialSuccessDto {
  /** Number of invalid log records: a 64-bit integer as a string. */
  @ApiProperty({ pattern: '^[0-9]+$' })
  rejectedLogRecords!: string;

  /** Why records are invalid, and warnings about records that are stored. */
  errorMessage!: string;
}

/** The response to an export: ExportLogsServiceResponse of OTLP, in the encoding of the request. */
export class ExportLogsResponseDto {
  /** Present only if records are invalid or there are warnings. */
  partialSuccess?: ExportLogsPartialSuccessDto;
}
