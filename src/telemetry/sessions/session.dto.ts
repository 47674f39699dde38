import { ApiProperty } from '@nestjs/swagger';
import { PageMetaDto, SortedBy } from '#platform/paging';
import { StartedListQueryDto } from '../traces/trace-query.dto';

/** A session with the totals of its traces. */
export class SessionDto {
  session_id!: string;
  /** Start of its first trace. */
  first_started_at!: Date;
  /** Start of its last trace. */
  last_started_at!: Date;
  @ApiProperty({ type: 'integer', minimum: 1 })
  trace_count!: number;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 1 })
  span_count!: number;
  /** Spans whose status is an error. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  error_count!: number;
  /** Over the traces that report them; null where none does. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  input_tokens!: number | null;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  output_tokens!: number | null;
  /** US dollars. Null where no trace has a cost, or a trace with tokens has none. */
  @ApiProperty({ type: 'number', minimum: 0, nullable: true })
  cost_usd!: number | null;
  /** At most 100, by name. */
  models!: string[];
  /** At most 100, by name. */
  service_names!: string[];
  /** The session has more than 10,000 traces. All members but its times cover the last 10,000. */
  is_truncated!: boolean;
}

export class SessionPageDto {
  items!: SessionDto[];
  page!: PageMetaDto;
}

/** The sessions to list: `since` and `until` refer to the start of their last trace. */
@SortedBy('last_started_at')
export class SessionListQueryDto extends StartedListQueryDto {}
