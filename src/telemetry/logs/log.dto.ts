import { ApiProperty } from '@nestjs/swagger';
import { SEVERITIES } from '#otlp';
import { AnyJson } from '#platform/http';
import { PageMetaDto } from '#platform/paging';
import { RecordDto } from '../lists/record.dto';

/** A log record. It has no id: OpenTelemetry gives it none. */
export class LogRecordDto extends RecordDto {
  /** When it happened, else when it was observed, else when it arrived. Lists go by it. */
  logged_at!: Date;
  /** When it happened; null where that was not sent. */
  occurred_at!: Date | null;
  /** When it was observed; null where that was not sent. */
  observed_at!: Date | null;
  /** 1 to 24 as OpenTelemetry numbers them; 0 where none was sent. */
  @ApiProperty({ type: 'integer', minimum: 0, maximum: 24 })
  severity_number!: number;
  /** Its short name. */
  @ApiProperty({ enum: [...SEVERITIES] })
  severity!: string;
  /** The level as its source calls it. */
  severity_text!: string | null;
  /** What kind of event it is. */
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
