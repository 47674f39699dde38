import { ApiProperty } from '@nestjs/swagger';
import { IsString, Length, Matches } from 'class-validator';
import { SEVERITIES } from '#otlp';
import { AnyJson, IsOneOf, NotNull } from '#platform/http';
import { PageMetaDto, SortedBy } from '#platform/paging';
import { RecordListQueryDto } from '../list-query.dto';
import { RecordDto } from '../records/record.dto';

/** A log record. OpenTelemetry gives it no id. */
export class LogRecordDto extends RecordDto {
  /** When it happened, else when it was observed, else when it arrived. Lists are sorted by it. */
  logged_at!: Date;
  /** When it happened; null where none was sent. */
  occurred_at!: Date | null;
  /** When it was observed; null where none was sent. */
  observed_at!: Date | null;
  /** 1 to 24, as OpenTelemetry numbers them; 0 where none was sent. */
  @ApiProperty({ type: 'integer', minimum: 0, maximum: 24 })
  severity_number!: number;
  /** Short name of the severity. */
  @ApiProperty({ enum: [...SEVERITIES] })
  severity!: string;
  /** The level in the words of its source. */
  severity_text!: string | null;
  /** The kind of event. */
  event_name!: string | null;
  @AnyJson({ description: 'As it was sent; null for none.' })
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

/** A log record as it is read. */
export type LogRecordRow = Omit<LogRecordDto, 'severity'>;

export const toLogRecordDto = (row: LogRecordRow): LogRecordDto => ({
  ...row,
  severity: SEVERITIES[row.severity_number] ?? SEVERITIES[0],
});

const TEXT_MAX = 200;

/** Names and numbers of severities, without `unspecified`. */
const SEVERITY_NAMES = SEVERITIES.slice(1);
const SEVERITY_NUMBERS = SEVERITY_NAMES.map((_, index) => String(index + 1));

/** The log records to list. */
@SortedBy('logged_at')
export class LogListQueryDto extends RecordListQueryDto {
  /** Records of this trace: 32 lower-case hexadecimal digits. */
  @NotNull()
  @Matches(/^[0-9a-f]{32}$/, { message: 'must be 32 lower-case hexadecimal digits' })
  trace_id?: string;

  @NotNull()
  @IsOneOf([...SEVERITY_NAMES, ...SEVERITY_NUMBERS], {
    required: false,
    description: 'The minimum severity, by its short name or its number in OpenTelemetry.',
  })
  severity?: string;

  /** A text in the body. Upper and lower case are the same. */
  @NotNull()
  @IsString()
  @Length(1, TEXT_MAX)
  q?: string;
}

/** The number of a query's severity; 0 for none. */
export function severityNumberOf({ severity }: LogListQueryDto): number {
  if (severity === undefined) return 0;
  return SEVERITY_NUMBERS.includes(severity) ? Number(severity) : SEVERITY_NAMES.indexOf(severity) + 1;
}

/** The invalid items of an export, which were not stored. */
export class ExportLogsPartialSuccessDto {
  /** Log records that were not stored because they are invalid. A 64-bit integer, as text. */
  @ApiProperty({ pattern: '^[0-9]+$' })
  rejectedLogRecords!: string;

  /** The reasons. */
  errorMessage!: string;
}

/** The response to an export: ExportLogsServiceResponse of OTLP, in the encoding of the request. */
export class ExportLogsResponseDto {
  /** Only present where items were invalid. */
  partialSuccess?: ExportLogsPartialSuccessDto;
}
