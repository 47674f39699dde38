import { IntersectionType } from '@nestjs/swagger';
import { ListQueryDto, PageOf } from '#platform/paging';
import { BaseTraceDto, LabelFiltersDto, toBaseTraceDto, type TraceSummary } from '../../../telemetry';
import type { TraceReference } from './experiment-trace.repository';

/** A trace of an experiment: its totals, and the result that references it. */
export class ExperimentTraceDto extends BaseTraceDto {
  /** The newest result of the experiment that references the trace. Null while no result does. */
  result_id!: string | null;
  case_id!: string | null;
}

export class ExperimentTraceListQueryDto extends IntersectionType(ListQueryDto, LabelFiltersDto) {}

export class ExperimentTracePageDto extends PageOf(ExperimentTraceDto) {}

/** @param reference the result that references the trace, or null */
export const toExperimentTraceDto = (
  trace: TraceSummary,
  reference: TraceReference | null,
): ExperimentTraceDto => ({
  ...toBaseTraceDto(trace),
  result_id: reference?.result_id ?? null,
  case_id: reference?.case_id ?? null,
});
