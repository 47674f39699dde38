import { ApiProperty } from '@nestjs/swagger';
import { IsString, Length, Matches } from 'class-validator';
import { SEVERITIES } from '#otlp';
import { AnyJson, IsOneOf, NotNull } from '#platform/http';
import { PageMetaDto, SortedBy } from '#platform/paging';
import { RecordListQueryDto } from '../list-query.dto';
import { RecordDto } from '../records/record.dto';

/** A log record. It has no id, because OpenTelemetry defines none. */
export class LogRecordDto extends RecordDto {
  /** The time by which lists are sorted: `occurred_at`, else `observed_at`, else the time of arrival. */
  logged_at!: Date;
  /** When it happened; null if the sender did not say. */
  occurred_at!: Date | null;
  /** When it was observed; null if the sender did not say. */
  observed_at!: Date | null;
  /** Severity number of OpenTelemetry, 1 to 24; 0 if none was sent. */
  @ApiProperty({ type: 'integer', minimum: 0, maximum: 24 })
  severity_number!: number;
  /** Short name of the severity. */
  @ApiProperty({ enum: [...SEVERITIES] })
  severity!: string;
  /** The severity as its source calls it. */
  severity_text!: string | null;
  /** Name of the event that the record describes, else its attribute `event.name`. */
  event_name!: string | null;
  @AnyJson({ description: 'The body as it was sent; null if there is none.' })
  body!: unknown;
  /** 32 lower-case hexadecimal digits. */
  trace_id!: string | null;
  /** 16 lower-case hexadecimal digits. */
  span_id!: string | null;
}

export class LogRecordPageDto {
  items!: LogRecordDto[];
  page!: PageMetaDto;
}

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
  @NotNull()
  @IsString()
  @Length(1, TEXT_MAX)
  q?: string;
}

/** Returns the number of a query's severity; 0 if it has none. */
export function severityNumberOf({ severity }: LogListQueryDto): number {
  if (severity === undefined) return 0;
  return SEVERITY_NUMBERS.includes(severity) ? Number(severity) : SEVERITY_NAMES.indexOf(severity) + 1;
}

/** The invalid items of an export, which are not stored. */
export class ExportLogsPartialSuccessDto {
  /** Number of invalid log records, a 64-bit integer as text. */
  @ApiProperty({ pattern: '^[0-9]+$' })
  rejectedLogRecords!: string;

  /** Why they are invalid. */
  errorMessage!: string;
}

/** The response to an export: ExportLogsServiceResponse of OTLP, in the encoding of the request. */
export class ExportLogsResponseDto {
  /** Present only if items are invalid. */
  partialSuccess?: ExportLogsPartialSuccessDto;
}
