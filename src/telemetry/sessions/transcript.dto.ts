import { ApiProperty, OmitType } from '@nestjs/swagger';
import { AnyJson } from '#platform/http';
import { PageOf } from '#platform/paging';
import { TimedListQueryDto } from '../list-query.dto';
import type { TraceScoreDto } from '../traces/trace.dto';

/** Query of a transcript. `since` and `until` apply to the start of the traces. */
export class TranscriptQueryDto extends OmitType(TimedListQueryDto, ['sort', 'include_archived', 'offset']) {}

export const TRANSCRIPT_KINDS = ['message', 'tool_call'] as const;

/** A message or a tool call of a session. */
export class TranscriptItemDto {
  @ApiProperty({ enum: TRANSCRIPT_KINDS })
  kind!: (typeof TRANSCRIPT_KINDS)[number];
  /** `user`, `assistant`, `system` or another role that the agent sends; `assistant` for a tool call. */
  role!: string;
  @AnyJson({
    description:
      'A text, or the parts of a message that has others than text. Null for a tool call, and for a call that failed.',
  })
  content!: unknown;
  /** The called tool. */
  tool_name!: string | null;
  /** Identifies the call, as the model or the agent names it. */
  tool_call_id!: string | null;
  @AnyJson({ description: 'Arguments of the tool call; null if they were not recorded.' })
  arguments!: unknown;
  @AnyJson({ description: 'Result of the tool call; null until it has one, or if it was not recorded.' })
  result!: unknown;
  /** Why the model call or the tool call failed; empty for a failure without a message, null without a failure. */
  error!: string | null;
  /** When the message was sent or the model answered; for a tool call, when it started. */
  at!: Date;
  trace_id!: string;
  /** The model call that received or answered the message, or the span of the tool. */
  span_id!: string | null;
  /** The model that answered. Like the tokens and the cost, only on the first item of an answer. */
  model!: string | null;
  /** Duration of the model call that answered, or of the tool. */
  @ApiProperty({ type: 'number', minimum: 0, nullable: true })
  duration_ms!: number | null;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  input_tokens!: number | null;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  output_tokens!: number | null;
  /** Cost of the model call that answered, in US dollars. */
  @ApiProperty({ type: 'number', minimum: 0, nullable: true })
  cost_usd!: number | null;
  /** On the last item of a trace: the trace's newest 100 current scores, newest first. Empty on other items. */
  scores!: TraceScoreDto[];
  /** Whether content of the trace is missing: of a span over 4 MiB, or of spans after the first 5,000. */
  is_truncated!: boolean;
}

export class TranscriptPageDto extends PageOf(TranscriptItemDto) {}

/** An item without the scores of its trace. */
export type TranscriptItem = Omit<TranscriptItemDto, 'scores' | 'is_truncated'>;
