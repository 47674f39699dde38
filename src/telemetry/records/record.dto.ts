import { ApiProperty } from '@nestjs/swagger';
import { AnyJsonObject } from '#platform/http';
import { SpanResourceDto, SpanScopeDto } from '../traces/span.dto';

/** The members that log records and data points share. */
export class RecordDto {
  /** `service.name` of the resource; null if it is missing or longer than 255 characters. */
  service_name!: string | null;
  @AnyJsonObject({ description: 'Attributes as sent.' })
  attributes!: unknown;
  /** OTLP flags as sent: an unsigned 32-bit integer. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  flags!: number;
  @ApiProperty({ type: SpanResourceDto })
  resource!: unknown;
  @ApiProperty({ type: SpanScopeDto })
  scope!: unknown;
}

/** Describes the pages of lists of records. */
export const RECORD_PAGE = [
  'At most `limit` records. A page ends early if it exceeds 4 MiB, or if it has checked the maximum number of records',
  'against filters that no index serves. Continue with `next_cursor`, which also skips the rest of an `offset`. `total` is',
  'null if counting would check more records than that.',
].join(' ');
