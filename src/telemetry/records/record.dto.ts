import { ApiProperty } from '@nestjs/swagger';
import { AnyJsonObject } from '#platform/http';
import { SpanResourceDto, SpanScopeDto } from '../traces/span.dto';

/** Members that log records and data points have in common. */
export class RecordDto {
  /** `service.name` of the resource; null where it has none, or one of more than 255 characters. */
  service_name!: string | null;
  @AnyJsonObject({ description: 'As they were sent.' })
  attributes!: unknown;
  /** Unsigned 32 bits, as they were sent. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  flags!: number;
  @ApiProperty({ type: SpanResourceDto })
  resource!: unknown;
  @ApiProperty({ type: SpanScopeDto })
  scope!: unknown;
}

/** Describes the pages of their lists. */
export const RECORD_PAGE = [
  'At most `limit` records; fewer where they exceed 32 MiB, or where the page reached the number of records that it checks',
  'against filters without an index. `next_cursor` continues in both cases, and carries the rest of an `offset`. `total`',
  'is null where counting would check more records than that.',
].join(' ');
