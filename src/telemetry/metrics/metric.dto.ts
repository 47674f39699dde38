import { ApiProperty } from '@nestjs/swagger';
import { METRIC_TYPES, TEMPORALITIES } from '#otlp';
import { AnyJson, AnyJsonObject } from '#platform/http';
import { PageMetaDto } from '#platform/paging';
import { RecordDto } from '../lists/record.dto';

/** One of the measurements behind a data point. */
export class ExemplarDto {
  /** To the nanosecond. */
  @ApiProperty({ format: 'date-time' })
  timestamp!: string;
  @AnyJson({ description: 'A number, the text of one that a double cannot hold, or null.' })
  value!: unknown;
  trace_id!: string | null;
  span_id!: string | null;
  @AnyJsonObject({ description: 'Those that the data point does not have.' })
  attributes!: unknown;
}

/** A data point of a metric. It has no id: OpenTelemetry gives it none. */
export class MetricPointDto extends RecordDto {
  /** Name of the metric. */
  name!: string;
  description!: string | null;
  unit!: string | null;
  @ApiProperty({ enum: METRIC_TYPES })
  type!: string;
  /** Null for a gauge and a summary. */
  @ApiProperty({ enum: TEMPORALITIES, nullable: true })
  temporality!: string | null;
  /** Null but for a sum. */
  is_monotonic!: boolean | null;
  /** When it was measured, or arrived where that was not sent. Lists go by it. */
  measured_at!: Date;
  /** From when on it counts; null where that was not sent. */
  started_at!: Date | null;
  @AnyJson({
    description:
      `Of a gauge or a sum a number, of the others an object of what OpenTelemetry has of them: \`count\`,
\`sum\`, \`min\`, \`max\`, \`bucket_counts\`, \`explicit_bounds\`, \`scale\`, \`zero_count\`, \`zero_threshold\`, \`positive\`, \`negative\`, \`quantiles\`.
A number that a double cannot hold is text. Null where none was recorded.`.replaceAll('\n', ' '),
  })
  value!: unknown;
  @ApiProperty({ type: [ExemplarDto] })
  exemplars!: unknown;
  @AnyJsonObject({ description: 'Of the metric.' })
  metadata!: unknown;
}

export class MetricPointPageDto {
  items!: MetricPointDto[];
  page!: PageMetaDto;
}
