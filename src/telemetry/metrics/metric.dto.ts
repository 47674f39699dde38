import { ApiProperty } from '@nestjs/swagger';
import { IsString, Length } from 'class-validator';
import { METRIC_TYPES, TEMPORALITIES } from '#otlp';
import { AnyJson, AnyJsonObject, IsOneOf, NotNull } from '#platform/http';
import { PageMetaDto, SortedBy } from '#platform/paging';
import { RecordListQueryDto } from '../list-query.dto';
import { RecordDto } from '../records/record.dto';
import { NAME_MAX } from '../span-mapping/field.parser';

/** An example of the measurements that a data point aggregates. */
export class ExemplarDto {
  /** Time with nanoseconds. */
  @ApiProperty({ format: 'date-time' })
  timestamp!: string;
  @AnyJson({ description: 'A number, or a text if a double cannot represent it, or null.' })
  value!: unknown;
  trace_id!: string | null;
  span_id!: string | null;
  @AnyJsonObject({ description: 'Attributes of the measurement that the data point does not have.' })
  attributes!: unknown;
}

/** A data point of a metric. It has no id, because OpenTelemetry defines none. */
export class MetricPointDto extends RecordDto {
  /** Name of the metric. */
  name!: string;
  description!: string | null;
  unit!: string | null;
  @ApiProperty({ enum: METRIC_TYPES })
  type!: string;
  /** Null for gauges and summaries. */
  @ApiProperty({ enum: TEMPORALITIES, nullable: true })
  temporality!: string | null;
  /** Null for types other than sum. */
  is_monotonic!: boolean | null;
  /** The time by which lists are sorted: when it was measured, else when it arrived. */
  measured_at!: Date;
  /** Start of the measured period; null if the sender did not say. */
  started_at!: Date | null;
  @AnyJson({
    description:
      `A number for a gauge or a sum. For other types, an object with members named as in OpenTelemetry: \`count\`,
\`sum\`, \`min\`, \`max\`, \`bucket_counts\`, \`explicit_bounds\`, \`scale\`, \`zero_count\`, \`zero_threshold\`, \`positive\`, \`negative\`, \`quantiles\`.
A number that a double cannot represent is a text. Null if no value was recorded.`.replaceAll('\n', ' '),
  })
  value!: unknown;
  @ApiProperty({ type: [ExemplarDto] })
  exemplars!: unknown;
  @AnyJsonObject({ description: 'Metadata of the metric.' })
  metadata!: unknown;
}

export class MetricPointPageDto {
  items!: MetricPointDto[];
  page!: PageMetaDto;
}

/** The data points to list. */
@SortedBy('measured_at')
export class MetricListQueryDto extends RecordListQueryDto {
  /** Name of the metric, compared exactly. */
  @NotNull()
  @IsString()
  @Length(1, NAME_MAX)
  name?: string;

  @NotNull()
  @IsOneOf(METRIC_TYPES, { required: false })
  type?: string;
}

/** The invalid items of an export, which are not stored. */
export class ExportMetricsPartialSuccessDto {
  /** Number of invalid data points, a 64-bit integer as text. */
  @ApiProperty({ pattern: '^[0-9]+$' })
  rejectedDataPoints!: string;

  /** Why they are invalid. */
  errorMessage!: string;
}

/** The response to an export: ExportMetricsServiceResponse of OTLP, in the encoding of the request. */
export class ExportMetricsResponseDto {
  /** Present only if items are invalid. */
  partialSuccess?: ExportMetricsPartialSuccessDto;
}
