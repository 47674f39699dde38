import { ApiProperty } from '@nestjs/swagger';
import { AnyJsonObject } from '#platform/http';
import { SpanResourceDto, SpanScopeDto } from '../traces/span.dto';

/** What is told of every record of logs and metrics. */
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

/** What is told of the pages of their lists. */
export const RECORD_PAGE = [
  'At most `limit` records; fewer where they come to more than 32 MiB, and where filters that no index serves have been',
  'looked for in as many as a page goes through. `next_cursor` goes on in any case, also with what is left to pass over of',
  'an `offset`; `total` is null where to count would mean to go through more.',
].join(' ');
