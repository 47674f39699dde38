import { ApiProperty } from '@nestjs/swagger';
import { PageOf, SortedBy } from '#platform/paging';
import { LabelledListQueryDto } from '../traces/trace-query.dto';

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
  /** Sum of the known costs of its traces, in US dollars. Null if no trace has a known cost. */
  @ApiProperty({ type: 'number', minimum: 0, nullable: true })
  cost_usd!: number | null;
  /** Traces with tokens whose cost is unknown, which `cost_usd` does not include. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  unpriced_count!: number;
  /** Of its last trace that has one, like `environment`. */
  user_id!: string | null;
  environment!: string | null;
  /** Of its last trace that names a prompt. */
  prompt_name!: string | null;
  prompt_version!: string | null;
  /** The first 100 tags by name. */
  tags!: string[];
  /** The first 200 characters of the input of its first trace. */
  input_preview!: string | null;
  /** The first 200 characters of the output of its last trace. */
  output_preview!: string | null;
  /** The first 100 models by name. */
  models!: string[];
  /** The first 100 services by name. */
  service_names!: string[];
  /** Whether the session has more than 10,000 traces. All members except the start times then cover only its last 10,000 traces. */
  is_truncated!: boolean;
}

export class SessionPageDto extends PageOf(SessionDto) {}

/**
 * Query of a list of sessions. `since` and `until` apply to the start of a session's last trace. One trace of the
 * session must meet all other filters.
 */
@SortedBy('last_started_at')
export class SessionListQueryDto extends LabelledListQueryDto {}
