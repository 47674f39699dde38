import { ApiProperty } from '@nestjs/swagger';
import { METRIC_TYPES, TEMPORALITIES } from '#otlp';
import { AnyJson, AnyJsonObject, IsOneOf, NotNull, IsOptionalText } from '#platform/http';
import { PageOf, SortedBy } from '#platform/paging';
import { RecordListQueryDto } from '../list-query.dto';
import { RecordDto } from '../records/record.dto';
import { NAME_MAX } from '../span-mapping/field.parser';

/** An example of the measurements that a data point aggregates. */
export class ExemplarDto {
  /** Time with nanoseconds. */
  @ApiProperty({ format: 'date-time' })
  timestamp!: string;
  @AnyJson({ description: 'A number, a string if a double cannot represent the number, or null.' })
  value!: unknown;
  trace_id!: string | null;
  span_id!: string | null;
  @AnyJsonObject({ description: 'Attributes of the measurement that are not attributes of the data point.' })
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
  /** The time that lists are sorted by: when the point was measured, else when it arrived. */
  measured_at!: Date;
  /** Start of the measured period; null if the sender sent none. */
  started_at!: Date | null;
  @AnyJson({
    description:
      'A number for a gauge or a sum; for other types, an object with members named as in OpenTelemetry: `count`, `sum`, ' +
      '`min`, `max`, `bucket_counts`, `explicit_bounds`, `scale`, `zero_count`, `zero_threshold`, `positive`, `negative`, ' +
      '`quantiles`. Null if no value was recorded; a number that a double cannot represent is a string, also in the object.',
  })
  value!: unknown;
  @ApiProperty({ type: [ExemplarDto] })
  exemplars!: unknown;
  @AnyJsonObject({ description: 'Metadata of the metric.' })
  metadata!: unknown;
}

export class MetricPointPageDto extends PageOf(MetricPointDto) {}

/** The data points to list. */
@SortedBy('measured_at')
export class MetricListQueryDto extends RecordListQueryDto {
  /** Name of the metric, compared exactly. */
  @IsOptionalText(NAME_MAX)
  name?: string;

  @NotNull()
  @IsOneOf(METRIC_TYPES, { required: false })
  type?: string;
}

/** The invalid records of an export, which are not stored. */
export class ExportMetricsPartialSuccessDto {
  /** Number of invalid data points: a 64-bit integer as a string. */
  @ApiProperty({ pattern: '^[0-9]+$' })
  rejectedDataPoints!: string;

  /** Why records are invalid, and warnings about records that are stored. */
  errorMessage!: string;
}

/** The response to an export: ExportMetricsServiceResponse of OTLP, in the encoding of the request. */
export class ExportMetricsResponseDto {
  /** Present only if records are invalid or there are warnings. */
  partialSuccess?: ExportMetricsPartialSuccessDto;
}
