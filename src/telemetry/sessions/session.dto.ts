import { ApiProperty } from '@nestjs/swagger';
import { PageOf, SortedBy } from '#platform/paging';
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
  /** Number of spans with an error. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  error_count!: number;
  /** Sum over the traces that report input tokens; null if none does. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  input_tokens!: number | null;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  output_tokens!: number | null;
  /** Cost in US dollars. Null if no trace has a cost, or if the cost of a trace with tokens is unknown. */
  @ApiProperty({ type: 'number', minimum: 0, nullable: true })
  cost_usd!: number | null;
  /** The first 100 models by name. */
  models!: string[];
  /** The first 100 services by name. */
  service_names!: string[];
  /** Whether the session has more than 10,000 traces. All members except the start times then cover only its last 10,000 traces. */
  is_truncated!: boolean;
}

export class SessionPageDto extends PageOf(SessionDto) {}

/** Query of a list of sessions. `since` and `until` apply to the start of a session's last trace. */
@SortedBy('last_started_at')
export class SessionListQueryDto extends StartedListQueryDto {}
