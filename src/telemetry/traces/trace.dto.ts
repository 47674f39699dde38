import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { AnyJson } from '#platform/http';
import { PageMetaDto } from '#platform/paging';
import { TRACE_STATUSES } from '../trace-stats';
import { SpanHeadDto, SpanMeaningDto } from './span.dto';

/** What is told of a trace wherever it is listed. */
export class TraceFiguresDto {
  /** 32 lower-case hexadecimal digits. */
  trace_id!: string;
  /** Name of the root span; null until that arrives. */
  root_name!: string | null;
  started_at!: Date;
  /** From the first start to the last end. */
  @ApiProperty({ type: 'number', minimum: 0 })
  duration_ms!: number;
  @ApiProperty({ type: 'integer', minimum: 1 })
  span_count!: number;
  /** Spans whose status is an error. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  error_count!: number;
  /** Of all calls of models together; null where no span tells them. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  input_tokens!: number | null;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0, nullable: true })
  output_tokens!: number | null;
  /**
   * US dollars: what calls of models say they cost, else their tokens by the price table; null where the cost of one of
   * them is not known and the root does not say what all of them cost.
   */
  @ApiProperty({ type: 'number', minimum: 0, nullable: true })
  cost_usd!: number | null;
  models!: string[];
  session_id!: string | null;
  service_name!: string | null;
}

export class TraceDto extends TraceFiguresDto {
  /** The last end. */
  ended_at!: Date;
  /** `error` where at least one span is an error. */
  @ApiProperty({ enum: TRACE_STATUSES })
  status!: string;
}

/** A span in the tree of its trace. */
export class TreeSpanDto extends IntersectionType(SpanHeadDto, SpanMeaningDto) {
  /** How many of the trace's spans it is below: 0 at the top, also for a span whose parent is not there. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  depth!: number;
}

/** A trace as a whole. */
export class TraceTreeDto extends TraceDto {
  @AnyJson({ description: 'What the root was given; null where it does not say it.' })
  input!: unknown;
  @AnyJson({ description: 'What the root answered; null where it does not say it.' })
  output!: unknown;
  /** Bytes of input and output as JSON. Both are null where that is more than 8 MiB. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  content_size!: number;
  /** In the order of the tree: each before what is below it, and what is below one span by start. */
  spans!: TreeSpanDto[];
  /** There are more spans than these, which are the first by start: `span_count` tells how many. */
  is_truncated!: boolean;
}

export class TracePageDto {
  items!: TraceDto[];
  page!: PageMetaDto;
}
