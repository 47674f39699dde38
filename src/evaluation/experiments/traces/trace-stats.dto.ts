import { ApiProperty } from '@nestjs/swagger';
import { IsOneOf, ValuesCheckedLater } from '#platform/http';
import {
  FiltersOf,
  GroupsOf,
  MEASURE_FIELDS,
  TRACE_GROUPS,
  TRACE_LABEL_FIELDS,
  TraceConditionDto,
  TraceMetricsDto,
  TraceStatsRowDto,
} from '../../../telemetry';
import { TRACE_LABELS } from './experiment-trace.repository';

/** `tag` is a tag of the result. */
const LABELS = TRACE_LABEL_FIELDS.filter((field) => field !== 'tag');
const STATS_GROUPS = [...TRACE_GROUPS, ...TRACE_LABELS, ...LABELS] as const;
type StatsGroup = (typeof STATS_GROUPS)[number];

export const STATS_FIELDS = [...STATS_GROUPS, ...MEASURE_FIELDS, 'started_at'] as const;

/** A condition on the trace. All filters must match. Measures cover the whole trace. */
export class TraceFilterDto extends TraceConditionDto {
  @IsOneOf(STATS_FIELDS)
  declare field: (typeof STATS_FIELDS)[number];
}

/** A query for statistics of an experiment's traces. */
@ValuesCheckedLater()
export class TraceStatsQueryDto extends TraceMetricsDto {
  /** If absent or empty, the statistics have one row for all traces. */
  @GroupsOf(STATS_GROUPS)
  group_by?: StatsGroup[] | null;

  @FiltersOf(() => TraceFilterDto)
  filters?: TraceFilterDto[] | null;
}

/** How much of the experiment the statistics cover. */
export class TraceCoverageDto {
  /** Results of the experiment. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  results!: number;
  /** Results that reference a trace. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  with_trace!: number;
  /** Distinct traces that results reference and that have arrived, whether or not they match the filters. */
  @ApiProperty({ type: 'integer', minimum: 0 })
  traces_found!: number;
}

export class TraceStatsDto {
  /** One row for each group, in the order of the group's values, null last. */
  @ApiProperty({ type: [TraceStatsRowDto] })
  rows!: unknown;
  coverage!: TraceCoverageDto;
  /** Whether `rows` was truncated, at 10,000 groups or 32 MiB. */
  is_truncated!: boolean;
}
