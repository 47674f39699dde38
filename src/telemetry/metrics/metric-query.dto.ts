import { IsString, Length } from 'class-validator';
import { METRIC_TYPES } from '#otlp';
import { IsOneOf, NotNull } from '#platform/http';
import { SortedBy } from '#platform/paging';
import { attributesOf, RecordListQueryDto } from '../lists/record-query.dto';
import { toTimes } from '../lists/timed-query.dto';
import { NAME_MAX } from '../semantics/figure.parser';
import type { MetricListFilters } from './metric-list.repository';

/** Which data points to list. */
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

export const toMetricFilters = (query: MetricListQueryDto): MetricListFilters => ({
  ...toTimes(query),
  name: query.name,
  service_name: query.service_name,
  type: query.type,
  attributes: attributesOf(query),
});
