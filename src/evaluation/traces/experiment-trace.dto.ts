import { ApiProperty } from '@nestjs/swagger';
import { AnyJsonObject } from '#platform/http';
import { ListQueryDto, PageMetaDto, SortedBy } from '#platform/paging';
import { TraceFiguresDto } from '../../telemetry';

/** A trace of an experiment: its figures, and the result that names it. */
export class ExperimentTraceDto extends TraceFiguresDto {
  /** The newest result of the experiment that carries the trace's id; null while no result does. */
  result_id!: string | null;
  case_id!: string | null;
}

export class ExperimentTracePageDto {
  items!: ExperimentTraceDto[];
  page!: PageMetaDto;
}

export class SpanStatusDto {
  @ApiProperty({ enum: ['unset', 'ok', 'error'] })
  code!: string;
  message!: string | null;
}

class WithAttributesDto {
  @AnyJsonObject({ description: 'As they were sent.' })
  attributes!: unknown;
  /** Attributes that the sender had left out. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  dropped_attributes_count!: number;
}

export class SpanEventDto extends WithAttributesDto {
  name!: string;
  /** To the nanosecond. */
  @ApiProperty({ format: 'date-time' })
  timestamp!: string;
}

/** Another span that this one is related to. */
export class SpanLinkDto extends WithAttributesDto {
  trace_id!: string | null;
  span_id!: string | null;
  /** W3C tracestate. */
  trace_state!: string;
}

/** What produced a span. */
export class SpanResourceDto extends WithAttributesDto {
  schema_url!: string;
}

/** The instrumentation library of a span. */
export class SpanScopeDto extends WithAttributesDto {
  name!: string;
  version!: string;
  schema_url!: string;
}

@SortedBy('started_at')
export class SpanListQueryDto extends ListQueryDto {}

/** A span, with what it was sent with. */
export class SpanDto {
  /** 16 lower-case hexadecimal digits. */
  span_id!: string;
  /** Null for a root. */
  parent_span_id!: string | null;
  name!: string;
  @ApiProperty({ enum: ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] })
  kind!: string;
  status!: SpanStatusDto;
  started_at!: Date;
  ended_at!: Date;
  @ApiProperty({ type: 'number', minimum: 0 })
  duration_ms!: number;
  @AnyJsonObject({ description: 'As they were sent.' })
  attributes!: unknown;
  @ApiProperty({ type: [SpanEventDto] })
  events!: unknown;
  @ApiProperty({ type: [SpanLinkDto] })
  links!: unknown;
  @ApiProperty({ type: SpanResourceDto })
  resource!: unknown;
  @ApiProperty({ type: SpanScopeDto })
  scope!: unknown;
}

export class SpanPageDto {
  items!: SpanDto[];
  page!: PageMetaDto;
}
