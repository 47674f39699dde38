import { ApiProperty } from '@nestjs/swagger';
import { IsString, Length } from 'class-validator';
import { METRIC_TYPES, TEMPORALITIES } from '#otlp';
import { AnyJson, AnyJsonObject, IsOneOf, NotNull } from '#platform/http';
import { PageMetaDto, SortedBy } from '#platform/paging';
import { RecordListQueryDto } from '../list-query.dto';
import { RecordDto } from '../records/record.dto';
import { NAME_MAX } from '../span-mapping/field.parser';

/** One of the measurements behind a data point. */
export class ExemplarDto {
  /** To the nanosecond. */
  @ApiProperty({ format: 'date-time' })
  timestamp!: string;
  @AnyJson({ description: 'A number; a text where a double cannot hold it; or null.' })
  value!: unknown;
  trace_id!: string | null;
  span_id!: string | null;
  @AnyJsonObject({ description: 'Attributes that the data point does not have.' })
  attributes!: unknown;
}

/** A data point of a metric. OpenTelemetry gives it no id. */
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
  /** Null unless it is a sum. */
  is_monotonic!: boolean | null;
  /** When it was measured; when it arrived where no time was sent. Lists are sorted by it. */
  measured_at!: Date;
  /** Start of the measured period; null where none was sent. */
  started_at!: Date | null;
  @AnyJson({
    description:
      `A number for a gauge or a sum. For the other types an object with the members of OpenTelemetry: \`count\`,
\`sum\`, \`min\`, \`max\`, \`bucket_counts\`, \`explicit_bounds\`, \`scale\`, \`zero_count\`, \`zero_threshold\`, \`positive\`, \`negative\`, \`quantiles\`.
A number that a double cannot hold is a text. Null where none was recorded.`.replaceAll('\n', ' '),
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

/** The invalid items of an export, which were not stored. */
export class ExportMetricsPartialSuccessDto {
  /** Data points that were not stored because they are invalid. A 64-bit integer, as text. */
  @ApiProperty({ pattern: '^[0-9]+$' })
  rejectedDataPoints!: string;

  /** The reasons. */
  errorMessage!: string;
}

/** The response to an export: ExportMetricsServiceResponse of OTLP, in the encoding of the request. */
export class ExportMetricsResponseDto {
  /** Only present where items were invalid. */
  partialSuccess?: ExportMetricsPartialSuccessDto;
}
